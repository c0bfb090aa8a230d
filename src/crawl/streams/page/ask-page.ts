import type { BytesReading, ReadBytes } from '../../../api/attempt.ts';
import type { ApiClient } from '../../../api/client.ts';
import type { Exchange } from '../../../api/exchange.ts';
import { echoOf } from '../../../api/response/v3-echo.ts';
import { listOf } from '../../../api/response/v3-envelope.ts';
import type { Flight } from '../../../budget/flight.ts';
import type { Priority } from '../../../budget/priority.ts';
import type { Dataset } from '../../../dataset/dataset.ts';
import type { Job, RecordsReading } from '../../../dataset/job.ts';
import type { Echo, Params, Step } from '../../../dataset/paginator.ts';
import type { Stream } from '../../../db/coverage/coverage.ts';
import { BadResponseError } from '../../../errors.ts';
import type { Range } from '../../../range.ts';
import type { NetworkWatch } from '../../network-guard.ts';
import type { PageThreads } from '../../page-threads.ts';
import { contentOf, inside, type Content } from './content.ts';
import type { SpanTrust } from './limit-trust.ts';
import type { LtBounds } from './lt-bounds.ts';
import { pageOf } from './page-apart.ts';
import { contentOfPage, readPage, type HowToRead, type ReadPage } from './read-page.ts';
import { readRecords } from './read-records.ts';

interface PageRequest {
  readonly dataset: Dataset;
  readonly stream: Pick<Stream, 'scope'>;
  /** Where the dataset's paginator stands. */
  readonly cursor: unknown;
  /** The most rows to ask for. */
  readonly size: number;
  /** Whether a short page of this span may have been cut. */
  readonly trust: SpanTrust;
  readonly priority: Priority;
  /** Left out: the page has its place in memory until it is read. */
  readonly flight?: Flight;
  /** Set where the page is written. Left out: each record goes through its schema, with strings that are text. */
  readonly toWrite?: ToWrite;
  readonly signal: AbortSignal;
  /** Attempts at a page that may never be served; left out: as many as usual. */
  readonly attemptsInDoubt?: number | undefined;
}

interface ToWrite {
  /** What of the page is written; undefined where only the page itself tells. */
  readonly span: Range | undefined;
  readonly threads: PageThreads;
}

/** What a page is asked of. */
export interface Asking {
  readonly api: ApiClient;
  readonly network: Pick<NetworkWatch, 'confirm'>;
  readonly lts: LtBounds;
}

/** A page of a stream: its records as they came, as they were read, and what the page means for the span. */
export interface PageRead {
  readonly records: readonly unknown[];
  readonly reading: RecordsReading;
  readonly step: Step<unknown>;
  /** What it has to write, where that is known before it comes: then nobody needs its records and what was accepted of them. */
  readonly content?: Content;
}

/** What a page shows of its place. */
type PagePlace = Pick<RecordsReading, 'positions' | 'joins'> & { readonly echo: Echo };

/**
 * Asks for one page of a stream and reads it: the only way in which a page is asked for, whatever for.
 * @throws BadResponseError where the response cannot be one to this request, also by the window that it says it answers
 */
export async function askPage(
  { api, network, lts }: Asking,
  request: PageRequest,
): Promise<Exchange<PageRead>> {
  await network.confirm();
  const { dataset, stream, cursor, size, trust, priority, flight, signal, attemptsInDoubt, toWrite } =
    request;
  const { job } = dataset;
  const paging = job.paginator.request(cursor, size);
  const scope = job.scopes === undefined ? {} : { [job.scopes.param]: stream.scope };
  const bounds = job.index.of === 'lt' ? await boundsOf(lts, paging, { priority, signal }) : {};
  const recordsIn = listOf(job.list);
  let accept: () => void = () => undefined;
  const stepTo = (shown: PagePlace, limit = paging.limit) => {
    const until = Number(paging['end_utime']) + 1;
    const { positions } = shown;
    const verdict = trust.judge({ asked: limit, window: windowOf(paging), positions });
    const isDoubted = verdict.size < limit;
    const step = job.paginator.next(cursor, { ...shown, size: verdict.size, isDoubted, until });
    accept = verdict.accept;
    return step;
  };
  const page = await api.get({
    path: job.path,
    params: { ...job.params, ...scope, ...paging, ...bounds },
    priority,
    flight,
    signal,
    attemptsInDoubt,
    strings: toWrite && 'bytes',
    readBytes: toWrite && byBytes(dataset, toWrite, stepTo),
    parse: (body, form, limit): PageRead => {
      const records = recordsIn(body);
      const reading = readRecords(job, records, toWrite && form);
      requireScope(dataset, stream, reading);
      const step = stepTo({ ...reading, echo: echoOf(body) }, limit);
      return toWrite?.span === undefined
        ? { records, reading, step }
        : toBeWritten(job, reading, { step, span: toWrite.span });
    },
  });
  accept();
  if (page.value.step.cursor === undefined) trust.ended();
  return page;
}

function toBeWritten(
  { tables }: Job,
  reading: RecordsReading,
  { step, span }: Pick<HowToRead, 'span'> & { readonly step: PageRead['step'] },
): PageRead {
  const content = contentOf(tables, inside([reading], span));
  return { ...shownOnly(reading), step, content };
}

function shownOnly({
  positions,
  joins,
}: Pick<RecordsReading, 'positions'> & { readonly joins?: RecordsReading['joins'] }): Pick<
  PageRead,
  'records' | 'reading'
> {
  return {
    records: [],
    reading: { positions, accepted: [], rejected: [], ...(joins !== undefined && { joins }) },
  };
}

/** How a body is read by its bytes, here or in another thread; undefined where it is not known what will be written of it. */
function byBytes(
  { name, job }: Dataset,
  { span, threads }: ToWrite,
  stepTo: (shown: PagePlace, limit: number | undefined) => PageRead['step'],
): ReadBytes<PageRead> | undefined {
  // Pages of one pool are small, and their rows are looked at here.
  if (span === undefined || job.scopes !== undefined) return undefined;
  const read = async (body: Buffer, { turn, alone, key }: BytesReading): Promise<ReadPage> => {
    const apart = await threads.read({ dataset: name, span }, body);
    if (apart.page !== undefined) return pageOf(apart.page);
    return alone(() => readPage(apart.body, { job, span, key, turn }));
  };
  return async (body, how) => {
    const page = await read(body, how);
    const { positions, joins, echo } = page;
    const step = stepTo({ positions, echo, ...(joins !== undefined && { joins }) }, how.limit);
    return { ...shownOnly(page), step, content: contentOfPage(job, page) };
  };
}

/** A row of another pool than the one asked for would lie where that one's own readings were confirmed. */
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

/** The window's seconds as logical times too, no wider than it has them already. */
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
