import type { ApiClient } from '../../api/client.ts';
import { type Exchange, loggedOf } from '../../api/attempt.ts';
import type { Flight, Priority } from '../../budget/request-budget.ts';
import type { Dataset } from '../../dataset/dataset.ts';
import { type RecordsReading, type Job, type Rejected, scopeOf } from '../../dataset/job.ts';
import type { Params, Step } from '../../dataset/paginators/paginator.ts';
import type { Stream, Refusal } from '../../ledger/stored-coverage.ts';
import { BadResponseError } from '../../errors.ts';
import { type Range, isInside, spanOfSecond } from '../../range.ts';
import type { NetworkWatch } from '../source-guard.ts';
import type { SpanTrust, LtBounds } from '../request-bounds.ts';
import { parseBody, parseJson, requireHoldable, echoOf, listOf } from '../../api/read-response.ts';
import { readList } from '../../dataset/bytes/read-list.ts';
import { type Tables, surveyJson, type Extra } from '../../dataset/declaration/record.ts';
import { linesOfRecords, type Lines } from '../../write/lines.ts';
import { type Again, type PageCommit, type PageLog, release } from '../../write/commit.ts';
import type { Lease } from '../../ledger/leases.ts';
import type { Assignment } from './planner.ts';
import type { Database } from '../../postgres/database.ts';
import type { Partitions } from '../../write/target.ts';
import type { Quarantined } from '../../read/quarantined.ts';

interface PageRequest {
  readonly dataset: Dataset;
  readonly stream: Pick<Stream, 'scope'>;
  /** The position of the dataset's paginator. */
  readonly cursor: unknown;
  /** Maximum number of rows to request. */
  readonly size: number;
  /** Decides whether a short page of this span may have been cut. */
  readonly trust: SpanTrust;
  readonly priority: Priority;
  /** If omitted, the page gives its memory slot back as soon as it is read. */
  readonly flight?: Flight;
  /** The seconds whose rows are written, if they are known before the page comes. */
  readonly toWrite?: Range | undefined;
  readonly signal: AbortSignal;
  /** Attempts if the page may never be served. If omitted, as many as usual. */
  readonly attemptsInDoubt?: number | undefined;
}

/** What a page request needs. */
export interface PageContext {
  readonly api: ApiClient;
  readonly network: Pick<NetworkWatch, 'confirm'>;
  readonly lts: LtBounds;
}

/** A page of a stream: its raw records, their reading, and the step of the paginator. */
export interface PageRead {
  readonly records: readonly unknown[];
  readonly reading: RecordsReading;
  readonly step: Step<unknown>;
  /**
   * The rows to write, if the written seconds were known before the page came. Then the records and what was
   * accepted of them are released.
   */
  readonly content?: Content;
}

/**
 * Requests one page of a stream and reads it. Every page of a stream is requested here.
 * @throws BadResponseError if the response cannot answer this request, or if its window differs from the requested one
 */
export async function askPage(
  { api, network, lts }: PageContext,
  request: PageRequest,
): Promise<Exchange<PageRead>> {
  await network.confirm();
  const { dataset, stream, cursor, size, trust, priority, flight, signal, attemptsInDoubt, toWrite } =
    request;
  const { job } = dataset;
  const paging = job.paginator.request(cursor, size);
  const scope = job.scopes === undefined ? {} : { [job.scopes.param]: stream.scope };
  const bounds = job.index.of === 'lt' ? await boundsOf(lts, paging, { priority, signal }) : {};
  const window = windowOf(paging);
  let accept: () => void = () => undefined;
  const page = await api.get({
    path: job.path,
    params: { ...job.params, ...scope, ...paging, ...bounds },
    priority,
    flight,
    signal,
    attemptsInDoubt,
    readBytes: async (bytes, { limit = paging.limit, turn }): Promise<PageRead> => {
      const body = await readBody(job, bytes, turn);
      const { records, reading, echo } = body;
      requireScope(dataset, stream, reading);
      const verdict = trust.judge({ asked: limit, window, positions: reading.positions });
      const { size } = verdict;
      const seen = { ...reading, echo, size, isDoubted: size < limit, until: window.until };
      const step = job.paginator.next(cursor, seen);
      accept = verdict.accept;
      if (toWrite === undefined) return { records, reading, step };
      await turn();
      const content = contentOf(job.tables, inside([reading], toWrite));
      body.release();
      return { records: [], reading: { ...reading, accepted: [], rejected: [] }, step, content };
    },
  });
  accept();
  if (page.value.step.cursor === undefined) trust.ended();
  return page;
}

/** Refuses rows of a pool that was not requested: only a pool's own readings can confirm its rows. */
function requireScope(
  { job: { scopes } }: Dataset,
  { scope }: PageRequest['stream'],
  { accepted }: Pick<RecordsReading, 'accepted'>,
): void {
  if (scopes === undefined) return;
  for (const { position, rows } of accepted) {
    const own = Object.values(rows).flatMap((of) => of ?? []);
    if (own.some((row) => Reflect.get(row, scopes.column) !== scope))
      throw new BadResponseError(`${position.id} is not of ${scope}, which was asked for`);
  }
}

function windowOf(paging: Params): Parameters<SpanTrust['judge']>[0]['window'] {
  return {
    until: Number(paging['end_utime']) + 1,
    startLt: boundOf(paging['start_lt']),
    endLt: boundOf(paging['end_lt']),
    offset: Number(paging['offset'] ?? 0),
  };
}

/** Adds the bounds of logical time to a window, unless it already has its own. */
async function boundsOf(
  lts: LtBounds,
  paging: Params,
  asking: Parameters<LtBounds['of']>[1],
): Promise<Params> {
  const seconds = { from: Number(paging['start_utime']), to: Number(paging['end_utime']) + 1 };
  const { start, end } = await lts.of(seconds, asking);
  const [low, high] = [boundOf(paging['start_lt']) ?? start, boundOf(paging['end_lt']) ?? end];
  return { start_lt: low?.toString(), end_lt: high?.toString() };
}

function boundOf(param: Params[string]): bigint | undefined {
  return param === undefined ? undefined : BigInt(String(param));
}

/*
 * From the body of a page to the rows to write. The records are found in the bytes of the body. Each is read
 * in place, or parsed alone if it has an unusual form (`dataset/bytes/read-list.ts`).
 */

/** Bodies below this size cannot fill the memory with their values, however small these are. */
const LARGE = 2 ** 22;

/**
 * Reads the body of a page of a stream: its raw records, their reading, and the window that it echoes. `turn` lets other
 * work run in between. `release` is called when the records are not needed any more. Throws if the body is malformed.
 */
export async function readBody(job: Job, bytes: Buffer, turn: () => Promise<void>) {
  const { list, record } = job;
  const found = await readList({ bytes, list, record, parse: parserOf(bytes), turn });
  // If the list was not found, parsing the whole body yields the error.
  const json = parseBody(found?.rest ?? bytes.toString());
  const rest = listOf(list)(json);
  if (rest.length > 0)
    throw new TypeError(`the record reader did not find "${list}" in a body that contains it`);
  await turn();
  const records = found?.records ?? [];
  const release = () => found?.release();
  return { records, reading: job.read(records), echo: echoOf(json), release };
}

/**
 * Parses parts of a body. Views need no memory for their values, but parsed values do. Once many characters are
 * parsed, it counts the values of the whole body, and throws if they are too many.
 */
function parserOf(body: Buffer): (json: string) => unknown {
  let left = LARGE;
  return (json) => {
    if (left > 0 && left <= json.length) requireHoldable(surveyJson(body.toString('latin1')).values);
    left -= json.length;
    return parseJson(json);
  };
}

/** What one commit writes: the rows of one page, or of several. */
export interface Content {
  /** Rows of the accepted records, table by table. */
  readonly rows: readonly Lines[];
  /** The ids of the accepted records. */
  readonly ids: readonly string[];
  readonly rejected: readonly Rejected[];
  /** Unknown members of each accepted record that has any. */
  readonly extras: readonly Extra[];
}

/** The rows of one page, or of all pages of a second that is written as a whole. */
export function contentOf(
  tables: Tables,
  { accepted, rejected }: Inside,
  how?: Parameters<typeof linesOfRecords>[2],
): Content {
  return {
    rows: linesOfRecords(tables, accepted, how),
    ids: accepted.map(({ position }) => position.id),
    rejected,
    extras: extrasOf(accepted),
  };
}

/** The unknown members of each record that has any. */
export function extrasOf(records: readonly { readonly extra: Extra }[]): Extra[] {
  return records.map(({ extra }) => extra).filter((extra) => Object.keys(extra).length > 0);
}

/** The records of pages that are written. */
export type Inside = Pick<RecordsReading, 'accepted' | 'rejected'>;

/**
 * The records of pages within a span: the replaced seconds, or the lease. A page that looks ahead for
 * successors may end anywhere beyond the lease. What the tables hold must not depend on where pages end, so
 * the other records are read with their own second.
 */
export function inside(readings: readonly Inside[], span: Range | undefined): Inside {
  const isWritten = ({ position }: Pick<Rejected, 'position'>) =>
    span !== undefined && isInside(position.utime, span);
  return {
    accepted: readings.flatMap(({ accepted }) => accepted.filter(isWritten)),
    rejected: readings.flatMap(({ rejected }) => rejected.filter(isWritten)),
  };
}

/** A page that was read and waits for its commit, without its raw records. */
export type FetchedPage = Exchange<Pick<PageRead, 'reading' | 'step' | 'content'>>;

/**
 * True if rows wait until their second is whole. They replace the stored rows of that second, or are compared
 * with them in a second reading.
 */
export function needsWholeSeconds({ dataset, stream }: Pick<Assignment, 'dataset' | 'stream'>): boolean {
  return dataset.job.replacesRows || stream.pass > 0;
}

/** The commit of pages that belong together: one page, or all pages of a second that is written as a whole. */
export function toCommit(
  { dataset, stream, priority }: Assignment,
  lease: Lease,
  pages: readonly FetchedPage[],
): PageCommit {
  const step = pages.at(-1)?.value.step;
  const isAgain = stream.pass > 0;
  return {
    lease,
    ...contentOfAll(dataset.job, pages, { compared: isAgain }),
    done: step && doneOf(step),
    ...(isAgain && { again: againOf(dataset.job, stream) }),
    replace: dataset.job.replacesRows,
    overwrite: priority === 'repair' || isAgain,
    pages: pages.map((page) => logOf(page, lease.span)),
  };
}

/** The rows of one page are known with the page; the rows of several pages, when the last one is there. */
function contentOfAll(
  { tables }: Job,
  pages: readonly FetchedPage[],
  how: { readonly compared: boolean },
): Content {
  const [first] = pages;
  if (first?.value.content !== undefined) return first.value.content;
  const readings = pages.map(({ value }) => value.reading);
  return contentOf(tables, inside(readings, pages.at(-1)?.value.step.completed), how);
}

function doneOf({ completed, saturated }: PageRead['step']): PageCommit['done'] {
  if (completed !== undefined) return { span: completed, outcome: 'covered' };
  return saturated && { span: saturated, outcome: 'refused', why: SATURATED };
}

const SATURATED: Refusal = {
  reason: 'saturated',
  detail: 'more rows of one logical time than the source can page through',
};

/** The pages of a second that was requested row by row. */
interface PagesOfSecond {
  readonly second: Range;
  readonly pages: readonly FetchedPage[];
  /** Why the second is not covered; undefined if the pages hold all of it. */
  readonly why: Refusal | undefined;
}

/** The commit of a second that the server does not serve as a whole. */
export function toCommitOfSecond(
  assignment: Assignment,
  lease: Lease,
  { second, pages, why }: PagesOfSecond,
): PageCommit {
  const { dataset, stream } = assignment;
  const reading = inside(
    pages.map(({ value }) => value.reading),
    second,
  );
  const { again, ...commit } = toCommit(assignment, lease, pages);
  if (why === undefined) {
    const content = contentOf(dataset.job.tables, reading, { compared: stream.pass > 0 });
    return { ...commit, ...(again && { again }), ...content, done: { span: second, outcome: 'covered' } };
  }
  // A second reading is compared with the stored rows, so a part of it proves nothing. Pages may overlap.
  const accepted = stream.pass > 0 ? [] : uniqueOf(reading.accepted);
  const content = contentOf(dataset.job.tables, { ...reading, accepted }, { compared: false });
  return { ...commit, ...content, done: { span: second, outcome: 'refused', why } };
}

function uniqueOf(accepted: Inside['accepted']): Inside['accepted'] {
  return [...new Map(accepted.map((record) => [record.position.id, record])).values()];
}

/** The scope of a second reading, and the pause before the next one. */
function againOf(job: Job, stream: Stream): Again {
  return { scope: scopeOf(job, stream), pauseSeconds: job.maturitySeconds ?? 0 };
}

function logOf(page: FetchedPage, lease: Range): PageLog {
  const { positions } = page.value.reading;
  const times = positions.map(({ utime }) => utime);
  const [first, last] = [Math.min(...times), Math.max(...times)];
  const span = positions.length === 0 ? spanOfSecond(lease.from) : { from: first, to: last + 1 };
  return { span, rows: positions.length, ...loggedOf(page) };
}

/**
 * Reads a quarantined record with this version's schema, without a request to the API. If it fits, its rows
 * are written and it leaves quarantine.
 * @returns undefined if it was released, else why it does not fit
 */
export async function retryRecord(
  database: Database,
  partitions: Partitions,
  { name, job }: Dataset,
  record: Quarantined,
): Promise<Pick<Rejected, 'path' | 'reason'> | undefined> {
  const { accepted, rejected } = job.read([parseJson(record.raw)]);
  const [fitting] = accepted;
  if (fitting === undefined) return rejected[0] ?? { path: '', reason: 'does not fit its schema' };
  await release(database, partitions, {
    stream: { dataset: name, scope: record.scope, pass: 0 },
    recordId: record.recordId,
    second: fitting.position.utime,
    tables: job.tables,
    rows: fitting.rows,
    extra: fitting.extra,
  });
  return undefined;
}
