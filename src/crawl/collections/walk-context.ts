import * as z from 'zod';
import { BadResponseError, NotServedError, type EtlError } from '../../errors.ts';
import type { Choices } from '../../settings/config.ts';
import type { Walk, ResponseReading, WalkEndpoint, ResponseShape } from '../../dataset/collection.ts';
import type { Collection } from '../../dataset/dataset.ts';
import type { CursorClaim } from '../../ledger/stored-cursors.ts';
import { type Learned, commitResponse, type ResponseCommit, commitWithRetry } from '../../write/commit.ts';
import type { Priority, Flight } from '../../budget/request-budget.ts';
import type { Range } from '../../range.ts';
import type { Stop } from '../../stop.ts';
import type { CrawlContext } from '../crawl-context.ts';
import type { NetworkWatch } from '../source-guard.ts';
import { unixSeconds } from '../../clock.ts';
import { type Exchange, loggedOf } from '../../api/attempt.ts';
import type { Params } from '../../dataset/paginators/paginator.ts';
import { collectRows, type Rows } from '../../dataset/declaration/record.ts';
import type { Outcomes } from '../../ledger/subjects.ts';
import { extrasOf } from '../streams/page.ts';

/** A response: its records as they came, and the maps that came with them. */
interface Answered {
  readonly records: readonly unknown[];
  readonly maps: Readonly<Record<string, unknown>>;
  /** When it came, ISO 8601. */
  readonly at: string;
}

export type WalkResponse = Exchange<Answered>;

export interface AskOptions {
  /** If it returns false, the response is bad and the request is retried. */
  readonly isWhole?: (records: readonly unknown[]) => boolean;
  /** If omitted, the response gives its memory slot back as soon as it is read. */
  readonly flight?: Flight;
  /** Attempts if the request may never succeed. If omitted, as many as usual. */
  readonly attemptsInDoubt?: number | undefined;
}

/** Asks the walk's endpoint. */
export async function ask(
  walkContext: WalkContext,
  params: Params,
  { isWhole = () => true, flight, attemptsInDoubt }: AskOptions = {},
): Promise<WalkResponse> {
  const { context, walk, network, choices, priority, stop } = walkContext;
  await network.confirm();
  await context.disk.wait(stop.finishing);
  const request = {
    params: { ...walk.params(choices), ...params },
    priority,
    flight,
    attemptsInDoubt,
    signal: stop.leaving,
    parse: (body: unknown): Answered => {
      const records = recordsOf(walk.shape, body);
      if (!isWhole(records)) throw new BadResponseError('the response was cut short');
      const at = new Date(context.clock.now()).toISOString();
      return { records, maps: mapsOf(walk.endpoint, walk.shape, body), at };
    },
  };
  const { endpoint } = walk;
  return walkContext.turns.ask(nameOf(walkContext), () =>
    'path' in endpoint
      ? context.api.get({ ...request, path: endpoint.path })
      : context.api.call({ ...request, method: endpoint.method }),
  );
}

/**
 * Reads a response's records by the walk's rules. `key`: the subject that was asked for; `first`: the rank of
 * the first record.
 */
export function readResponseRecords(
  { walk }: Pick<WalkContext, 'walk'>,
  { value: { records, at } }: WalkResponse,
  key: string,
  first = 0,
): ResponseReading {
  return walk.read(records, { at, key }, first);
}

const Body = z.record(z.string(), z.unknown());
const List = z.array(z.unknown());

/** The records of a body, as they came. */
export function recordsOf(shape: ResponseShape, body: unknown): unknown[] {
  if (shape === 'one') return [body];
  if (shape === 'array') return List.parse(body);
  if (shape === 'map') return entriesOf(body);
  const member = Body.parse(body)[shape.member];
  if (member === undefined) throw new BadResponseError(`the response has no ${shape.member}`);
  return member === null ? [] : List.parse(member);
}

/** A map's values, each with its key as `address`. */
function entriesOf(map: unknown): unknown[] {
  return Object.entries(Body.parse(map)).map(([address, entry]) => ({ address, ...Body.parse(entry) }));
}

/** The maps that v3 sends with its records: names and token data of the addresses in them. */
function mapsOf(
  endpoint: WalkEndpoint,
  shape: ResponseShape,
  body: unknown,
): Readonly<Record<string, unknown>> {
  return 'path' in endpoint && typeof shape === 'object' ? Body.parse(body) : {};
}

interface ResponseToWrite {
  readonly response: WalkResponse;
  readonly reading: ResponseReading;
  readonly cursor: object;
  readonly outcomes?: Outcomes;
}

/** Commits a response with the cursor after it, and the records of other collections that came with it. */
export async function writeResponse(
  walkContext: WalkContext,
  { response, reading, cursor, outcomes }: ResponseToWrite,
): Promise<void> {
  const { context, dataset, claim } = walkContext;
  const piggybacked = walkContext.piggybacked.map((collection) => piggybackedBy(collection, response));
  const commit: ResponseCommit = {
    claim,
    tables: piggybacked.reduce((all, { tables }) => ({ ...all, ...tables }), dataset.job.tables),
    rows: [...rowsOf(dataset, reading), ...piggybacked.flatMap(({ rows }) => rows)],
    rejected: reading.rejected,
    extras: extrasOf(reading.fitting),
    ids: reading.fitting.map(({ id }) => id),
    cursor,
    ...(outcomes !== undefined && { outcomes }),
    piggybacked: piggybacked.map(({ dataset: name, outcomes: of }) => ({ dataset: name, outcomes: of })),
    log: { rows: response.value.records.length, ...loggedOf(response) },
  };
  const began = context.clock.monotonic();
  await commitWithRetry(context, walkContext.network, () =>
    commitResponse(context.database, context.partitions, commit),
  );
  const rows = response.value.records.length;
  context.logger.debug(
    {
      dataset: dataset.name,
      walk: walkContext.walk.name,
      rows,
      bytes: response.bytes,
      ms: Math.round(response.ms),
    },
    'response committed',
  );
  context.onPage({
    dataset: dataset.name,
    scope: '',
    records: rows,
    unfit: reading.rejected,
    completed: undefined,
    bytes: response.bytes,
    ms: response.ms,
    writingMs: context.clock.monotonic() - began,
  });
}

function rowsOf({ job }: Collection, { fitting }: Pick<ResponseReading, 'fitting'>): Rows[] {
  return fitting.map(({ put }) => collectRows(job.tables, put));
}

/** Records of another collection that came with the response, read by the rules of its first walk. */
function piggybackedBy(dataset: Collection, response: WalkResponse) {
  const { name, job } = dataset;
  const [walk] = job.walks;
  const { maps, at } = response.value;
  const map = job.piggybackedAs === undefined ? undefined : maps[job.piggybackedAs];
  const records = map === undefined || map === null ? [] : entriesOf(map);
  const fitting = walk?.read(records, { at, key: '' }, 0).fitting ?? [];
  const found = fitting.flatMap(({ canonical }) =>
    walk?.kind === 'lookup' ? (walk.answers(canonical) ?? []) : [],
  );
  return {
    dataset: name,
    tables: job.tables,
    rows: rowsOf(dataset, { fitting }),
    outcomes: {
      walk: walk?.name ?? '',
      asked: found.map(({ key }) => key),
      found,
      refresh: walk?.kind === 'lookup' ? walk.refreshSeconds : undefined,
      unknownFor: 0,
    },
  };
}

/** Lets concurrent walks take turns. */
export interface WalkTurns {
  /** Sends a request when it is the walk's turn. */
  ask<T>(walk: string, request: () => Promise<T>): Promise<T>;
  /** Searches for subjects, which is work for the database. */
  gather<T>(search: () => Promise<T>): Promise<T>;
}

/** Used if walks run one after the other, as fast as the budget allows. */
export const noTurns: WalkTurns = { ask: (_, request) => request(), gather: (search) => search() };

/** Milliseconds after which a running walk looks for new subjects again. */
const RENEWAL_MS = 60_000;

/**
 * Returns a function that says whether a long walk has to look for new subjects again. A backfill reads
 * everything once and never has to.
 */
export function createRenewal({
  context: { clock },
  priority,
}: Pick<RunContext, 'context' | 'priority'>): () => boolean {
  let last = clock.monotonic();
  return () => {
    const isDue = priority !== 'backfill' && clock.monotonic() - last >= RENEWAL_MS;
    if (isDue) last = clock.monotonic();
    return isDue;
  };
}

/** The name of a walk, unique among all datasets. */
export function nameOf({
  dataset,
  walk,
}: {
  dataset: Pick<Collection, 'name'>;
  walk: Pick<Walk, 'name'>;
}): string {
  return `${dataset.name}/${walk.name}`;
}

/** What all walks of a run share. */
export interface RunContext {
  readonly context: CrawlContext;
  /** Name of this process. */
  readonly owner: string;
  readonly choices: Choices;
  /** Collections whose records come with the responses of other collections. */
  readonly piggybacked: readonly Collection[];
  /** The range whose masterchain blocks and subjects are wanted now; undefined if no range was requested. */
  readonly range: () => Range | undefined;
  /** The first masterchain block of the index. */
  readonly firstSeqno: number;
  readonly priority: Priority;
  /** Unix seconds on the database's clock. No subject is looked up twice after this; if infinite, within one walk. */
  readonly began: number;
  readonly stop: Stop;
  readonly turns: WalkTurns;
}

/**
 * How a walk ended. Undefined: everything was read. The error: a part is not served. `held`: another worker reads it, or
 * a part of it.
 */
export type WalkEnd = NotServedError | 'held' | undefined;

/** One walk of a run, whose cursor is claimed. */
export interface WalkContext<W extends Walk = Walk> extends RunContext {
  readonly dataset: Collection;
  readonly walk: W;
  /** Watches the network since the walk began. */
  readonly network: NetworkWatch;
  readonly claim: CursorClaim;
  /** The cursor as the last commit left it. */
  readonly stored: unknown;
  /** Commits the cursor and what was learned about subjects, if there are no rows to write. */
  readonly keep: (cursor: object, learned?: Learned) => Promise<void>;
}

/** The error for a part of a walk that the server does not serve. `others`: what happens to the rest, and to that part. */
export function notServed(what: string, { message }: EtlError, others: string): NotServedError {
  return new NotServedError(`${what}: ${message}`, { hint: `${others} is retried, with growing pauses.` });
}

/** True if the walk has to end. */
export function isOver({ stop }: Pick<RunContext, 'stop'>): boolean {
  return stop.finishing.aborted;
}

/** Unix seconds. */
export function nowOf({ context }: RunContext): number {
  return unixSeconds(context.clock);
}
