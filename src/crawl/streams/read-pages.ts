import type { Flight } from '../../budget/request-budget.ts';
import { commitPage, type PageCommit, commitWithRetry } from '../../write/commit.ts';
import { isEmpty } from '../../write/insert.ts';
import { cutLease, type Lease } from '../../ledger/leases.ts';
import { recordFailure, type Refusal } from '../../ledger/stored-coverage.ts';
import { mayConcernPage, ApiTimeoutError, type EtlError } from '../../errors.ts';
import { formatRange, spanOfSecond, type Range } from '../../range.ts';
import type { Stop } from '../../stop.ts';
import type { CrawlContext } from '../crawl-context.ts';
import { leaseLength, type SpanTrust } from '../request-bounds.ts';
import { ATTEMPTS_IN_DOUBT } from '../../api/client.ts';
import { askPage, needsWholeSeconds, toCommit, toCommitOfSecond, type FetchedPage } from './page.ts';
import type { NetworkWatch } from '../source-guard.ts';
import { requirePredecessors } from '../gaps.ts';
import type { Assignment } from './planner.ts';
import type { Dataset } from '../../dataset/dataset.ts';
import { requireInside } from '../../dataset/paginators/forward.ts';
import type { Paginator } from '../../dataset/paginators/paginator.ts';

/** Milliseconds after which a page is logged as slow. Usual pages take a fraction of a second. */
const SLOW_PAGE_MS = 15_000;

/** The other readers of this process. */
export interface IdleReaders {
  /** The number of idle readers among those that this process should have. */
  readonly count: () => number;
  /** Tells idle readers that there is something to read. */
  readonly wake: () => void;
}

/** A lease to be read. */
export interface LeaseReading extends Assignment {
  readonly stop: Stop;
  /** Watches the network since the reading began. */
  readonly network: NetworkWatch;
  readonly idleReaders: IdleReaders;
}

/** Smaller parts that are requested because a page failed although the server serves others. */
interface Narrowed {
  /** The rows that are not served lie before this second, as far as is known. */
  readonly until: number;
  /** End of the seconds that are requested now. */
  readonly to: number;
}

/** If more seconds of a lease than this are not served completely, the rest is refused. */
const MOST_PASSED = 64;
/** The same for consecutive seconds without any row between them. */
const MOST_IN_ROW = 8;

/** The progress of reading a lease. */
interface LeaseProgress {
  /** The part of the lease that is still to be read. */
  readonly held: Lease;
  /** The position of the next page; undefined if the lease is read. */
  readonly cursor: unknown;
  /** Rows after this second are new; undefined if no row is known to be. */
  readonly newAfter: number | undefined;
  /** Pages of a second that is written as a whole and is not complete yet. */
  readonly waiting: readonly FetchedPage[];
  /** Decides whether a short page may have been cut. */
  readonly trust: SpanTrust;
  /** Set while smaller parts are requested because a page was not served. */
  readonly narrowed?: Narrowed | undefined;
  /** Number of seconds that were skipped because some rows are not served: in total, and since the last row. */
  readonly passed: { readonly all: number; readonly inRow: number };
  /** Totals of this lease, for the log. */
  readonly read: { readonly requests: number; readonly rows: number; readonly bytes: number };
}

/**
 * Reads a held lease to its end: page → rows → commit. Commits stay, whatever ends the reading early.
 * @yields after each page, the part of the lease that is left, in unix seconds
 */
export async function* readPages(context: CrawlContext, reading: LeaseReading): AsyncGenerator<Range, void> {
  const { dataset, lease, priority, stop } = reading;
  let progress: LeaseProgress = {
    held: lease,
    cursor: firstCursor(context, dataset, lease.span),
    newAfter: await newAfterOf(context, reading),
    waiting: [],
    trust: context.tuning(dataset).limits.openSpan(lease.span),
    passed: { all: 0, inRow: 0 },
    read: { requests: 0, rows: 0, bytes: 0 },
  };
  const began = context.clock.monotonic();
  while (progress.cursor !== undefined && !stop.finishing.aborted) {
    await context.disk.wait(stop.finishing);
    progress = await readOrNarrow(context, reading, progress);
    yield progress.held.span;
  }
  const ms = Math.round(context.clock.monotonic() - began);
  const { scope } = lease.stream;
  const range = formatRange(lease.span);
  context.logger.debug({ dataset: dataset.name, scope, range, priority, ...progress.read, ms }, 'range read');
}

function firstCursor({ tuning }: CrawlContext, dataset: Dataset, span: Range, alone = false): unknown {
  return dataset.job.paginator.start(span, { alone, pageSeconds: tuning(dataset).density.pageSeconds() });
}

/**
 * The second after which rows are new; undefined if the tables are not empty there. Only for history, because pages of
 * the tail are small. Not for second readings, rows written as whole seconds, or single pools.
 */
async function newAfterOf({ database }: CrawlContext, assignment: LeaseReading): Promise<number | undefined> {
  const { dataset, lease, priority } = assignment;
  const { stream, span } = lease;
  if (priority !== 'backfill' || stream.scope !== '' || needsWholeSeconds(assignment)) return undefined;
  return (await isEmpty(database, Object.values(dataset.job.tables), span)) ? span.from : undefined;
}

/** Reads a page. If the server fails for it but serves others, smaller parts are requested. */
async function readOrNarrow(
  context: CrawlContext,
  reading: LeaseReading,
  progress: LeaseProgress,
): Promise<LeaseProgress> {
  try {
    return await readPage(context, reading, progress);
  } catch (error) {
    const { ofSecond } = reading.dataset.job.paginator;
    if (ofSecond === undefined || !mayConcernPage(error) || reading.stop.finishing.aborted) throw error;
    return narrow(context, reading, progress, error);
  }
}

/** Requests the first half of the seconds that may hold rows that are not served. A single second is skipped. */
async function narrow(
  context: CrawlContext,
  reading: LeaseReading,
  progress: LeaseProgress,
  failure: EtlError,
): Promise<LeaseProgress> {
  const { from, to } = progress.held.span;
  const { narrowed } = progress;
  if (narrowed === undefined && !(await servesElsewhere(context, reading, progress.held.span))) throw failure;
  // The seconds that the failed page may have held.
  const likely = Math.ceil(2 * (context.tuning(reading.dataset).density.pageSeconds() ?? Infinity));
  const until = narrowed?.to ?? Math.min(to, from + likely);
  if (until - from > 1) return halve(context, reading, progress, until);
  return passSecond(context, reading, progress, failure);
}

/** Continues with half of the seconds before `until`. If those are read, continues with the rest of the lease. */
function halve(
  context: CrawlContext,
  { dataset }: LeaseReading,
  progress: LeaseProgress,
  until: number,
): LeaseProgress {
  const { from, to } = progress.held.span;
  const isBehind = from >= until;
  const end = isBehind ? to : from + Math.max(1, Math.floor((until - from) / 2));
  const part = { from, to: end };
  return {
    ...progress,
    cursor: from < to ? firstCursor(context, dataset, part, !isBehind) : undefined,
    // Rows of the first second that are already written come again.
    newAfter: undefined,
    waiting: [],
    trust: context.tuning(dataset).limits.openSpan(part),
    narrowed: isBehind ? undefined : { until, to: end },
  };
}

/** Writes what the server serves of a second, refuses the second unless that is all of it, and continues after it. */
async function passSecond(
  context: CrawlContext,
  reading: LeaseReading,
  progress: LeaseProgress,
  failure: EtlError,
): Promise<LeaseProgress> {
  const { held } = progress;
  const second = spanOfSecond(held.span.from);
  const served = await readServed(context, reading, second.from);
  if (reading.stop.finishing.aborted) return progress;
  const rows = served.pages.reduce((sum, { value }) => sum + value.reading.positions.length, 0);
  const passed = {
    all: progress.passed.all + Number(!served.isWhole),
    inRow: served.isWhole || rows > 0 ? 0 : progress.passed.inRow + 1,
  };
  if (passed.all > MOST_PASSED || passed.inRow > MOST_IN_ROW) throw failure;
  const why = served.isWhole ? undefined : refusalOf(served.failure ?? failure, served.unserved, rows);
  if (why !== undefined) await reportRefused(context, reading, second, { failure, why });
  const { pages } = served;
  await write(context, reading.network, toCommitOfSecond(reading, held, { second, pages, why }));
  const left = { ...held, span: { from: second.to, to: held.span.to } };
  const { until = second.to } = served.isWhole ? (progress.narrowed ?? {}) : {};
  return halve(context, reading, { ...progress, held: left, passed }, until);
}

function refusalOf({ message }: EtlError, unserved: number, rows: number): Refusal {
  const detail =
    unserved === 0 ? message : `${message} (${unserved} of this second's rows; ${rows} others are stored)`;
  return { reason: 'failing', detail };
}

async function reportRefused(
  { database, logger }: CrawlContext,
  { stream }: LeaseReading,
  second: Range,
  { failure, why }: { readonly failure: EtlError; readonly why: Refusal },
): Promise<void> {
  await recordFailure(database, stream, failure).catch(() => undefined);
  const { dataset, scope } = stream;
  const range = formatRange(second);
  logger.error({ dataset, scope, range, code: failure.code, reason: why.detail }, 'range refused');
}

/** Requests a page and writes it. Then its memory slot is free again. */
async function readPage(
  context: CrawlContext,
  reading: LeaseReading,
  progress: LeaseProgress,
): Promise<LeaseProgress> {
  const flight = context.api.inFlight.open(reading.priority);
  try {
    const page = await fetchPage(context, reading, progress, flight);
    if (page === undefined) return progress;
    await requireBefore(context, reading, progress.held.span, page);
    return await commitAndAdvance(context, reading, progress, page);
  } finally {
    flight.end();
  }
}

/** If records name their predecessors, as blocks do, these must be stored or visible at the source. */
async function requireBefore(
  context: CrawlContext,
  { priority, stop }: LeaseReading,
  span: Range,
  page: FetchedPage,
): Promise<void> {
  // Pages look beyond their lease. Parents that are named there belong to the next lease.
  const before = page.value.reading.joins?.before?.filter(({ namedAt }) => namedAt < span.to) ?? [];
  if (before.length === 0) return;
  const { api } = context;
  await requirePredecessors(context, { api, priority, signal: stop.leaving }, before, span.from);
}

/** Writes a page, unless its rows have to wait for the rest of their second, and advances. */
async function commitAndAdvance(
  context: CrawlContext,
  assignment: LeaseReading,
  progress: LeaseProgress,
  page: FetchedPage,
): Promise<LeaseProgress> {
  const { held, newAfter, waiting, read, passed } = progress;
  const { step } = page.value;
  const began = context.clock.monotonic();
  const pages = [...waiting, page];
  const done = step.completed ?? step.saturated;
  const isWritten = done !== undefined || !needsWholeSeconds(assignment);
  const commit = { ...toCommit(assignment, held, pages), newAfter };
  const wereNew = isWritten && (await write(context, assignment.network, commit));
  if (isWritten) for (const { release } of commit.rows) release();
  report(context, assignment, { ...page, writingMs: context.clock.monotonic() - began });
  const left = done === undefined ? held : { ...held, span: { from: done.to, to: held.span.to } };
  const records = page.value.reading.positions.length;
  const next: LeaseProgress = {
    ...progress,
    held: left,
    cursor: step.cursor,
    // The next page begins with the second in which this one ends.
    newAfter: wereNew ? lastSecondOf(page, held.span) : undefined,
    waiting: isWritten ? [] : pages,
    passed: records > 0 ? { ...passed, inRow: 0 } : passed,
    read: {
      requests: read.requests + 1,
      rows: read.rows + records,
      bytes: read.bytes + page.bytes,
    },
  };
  return done === undefined && step.cursor !== undefined ? next : await advance(context, assignment, next);
}

/** The last second of a span for which a page has a row. */
function lastSecondOf({ value }: FetchedPage, { from, to }: Range): number {
  return value.reading.positions.reduce((last, { utime }) => Math.max(last, Math.min(utime, to)), from);
}

/** The progress after a page completed seconds, or the last page of a part came. */
async function advance(
  context: CrawlContext,
  reading: LeaseReading,
  progress: LeaseProgress,
): Promise<LeaseProgress> {
  const { narrowed, cursor } = progress;
  if (narrowed !== undefined)
    return cursor === undefined ? halve(context, reading, progress, narrowed.until) : progress;
  return cursor === undefined ? progress : await shorten(context, reading, progress);
}

function write(context: CrawlContext, network: NetworkWatch, commit: PageCommit): Promise<boolean> {
  return commitWithRetry(context, network, () => commitPage(context.database, context.partitions, commit));
}

/**
 * Gives back the end of a lease if it is far more work than one lease should be, or if other readers are
 * idle. Then they share it.
 */
async function shorten(
  context: CrawlContext,
  { dataset, idleReaders }: LeaseReading,
  progress: LeaseProgress,
): Promise<LeaseProgress> {
  const { from, to } = progress.held.span;
  const { density, limits } = context.tuning(dataset);
  const lengthOf = leaseLength(1 + idleReaders.count(), density.pageSeconds());
  const seconds = lengthOf(idleReaders.count() > 0 ? to - from : Infinity);
  if (to - from <= 2 * seconds) return progress;
  const held = await cutLease(context.database, progress.held, from + seconds);
  idleReaders.wake();
  // The part after the cut is requested in another span, so that it cannot clear a doubted page of this one.
  return {
    ...progress,
    held,
    cursor: firstCursor(context, dataset, held.span),
    trust: limits.openSpan(held.span),
  };
}

/** Requests the next page; undefined if the server timed out and a smaller page is requested next. */
async function fetchPage(
  { api, lts, tuning }: CrawlContext,
  { dataset, lease, priority, stop, network }: LeaseReading,
  { held, cursor, trust, narrowed, passed }: LeaseProgress,
  flight: Flight,
): Promise<FetchedPage | undefined> {
  const { size: pageSize, limits } = tuning(dataset);
  const size = limits.limit(pageSize.current());
  const { stream } = lease;
  const toWrite = needsWholeSeconds({ dataset, stream }) ? undefined : held.span;
  try {
    const attemptsInDoubt = narrowed === undefined && passed.all === 0 ? undefined : ATTEMPTS_IN_DOUBT;
    const paging = { dataset, stream, cursor, size, trust, toWrite };
    const sending = { priority, flight, signal: stop.leaving, attemptsInDoubt };
    const page = await askPage({ api, lts, network }, { ...paging, ...sending });
    pageSize.arrived();
    const { reading, step, content } = page.value;
    // Releases the raw records: those of a long second would all stay in memory until it is committed.
    return { ...page, value: { reading, step, ...(content && { content }) } };
  } catch (error) {
    const { limit } = dataset.job.paginator.request(cursor, size);
    if (!(error instanceof ApiTimeoutError) || !pageSize.timedOut(limit)) throw error;
    // If the page cannot be made smaller, the error stands: the same request would fail forever.
    if (dataset.job.paginator.request(cursor, pageSize.current()).limit >= limit) throw error;
    return undefined;
  }
}

function report(
  { tuning, onPage, logger }: CrawlContext,
  { dataset, lease }: Assignment,
  page: FetchedPage & { readonly writingMs: number },
): void {
  const { scope } = lease.stream;
  const { completed } = page.value.step;
  const rows = page.value.reading.positions.length;
  if (page.ms > SLOW_PAGE_MS)
    logger.warn(
      { dataset: dataset.name, scope, rows, ms: Math.round(page.ms) },
      'slow page: see ms and request in etl.pages, the network, and the status of the source',
    );
  if (completed !== undefined) tuning(dataset).density.learn(rows, completed);
  const seconds = completed === undefined ? 0 : completed.to - completed.from;
  logger.debug(
    { dataset: dataset.name, scope, rows, seconds, bytes: page.bytes, ms: Math.round(page.ms) },
    'page committed',
  );
  const { bytes, ms, writingMs } = page;
  const { content, reading } = page.value;
  const unfit = (content ?? reading).rejected;
  onPage({ dataset: dataset.name, scope, records: rows, unfit, completed, bytes, ms, writingMs });
}

/** Maximum number of requests for one second. Halving finds one bad row among a thousand in about twenty. */
const MOST_REQUESTS = 200;

/** After this many consecutive rows that are not served, the rest of the second is skipped. */
const MOST_UNSERVED_IN_ROW = 8;

interface RowsReading extends Assignment {
  readonly stop: Stop;
  readonly network: NetworkWatch;
}

/** A page of rows of one second. */
interface AskedRows {
  readonly second: number;
  readonly offset: number;
  readonly limit: number;
}

/** The rows of a second that the server serves. */
interface ServedOfSecond {
  readonly pages: readonly FetchedPage[];
  /** Number of rows that it did not serve, as far as known. */
  readonly unserved: number;
  /** The last error of rows that it did not serve. */
  readonly failure: EtlError | undefined;
  /** True if these are certainly all rows of the second. */
  readonly isWhole: boolean;
}

/** The state of reading a second row by row. */
interface SecondProgress extends Omit<ServedOfSecond, 'isWhole'> {
  readonly offset: number;
  /** A row before this offset is known not to be served; Infinity if there is none. */
  readonly until: number;
  /** Number of rows since the last page, none of which was served. */
  readonly inRow: number;
  readonly hasEnded: boolean;
}

/**
 * Reads the rows of a second except those that the server does not serve. A failing page is halved until one
 * row is left, which is skipped. Servers that sort by time alone may return the rows of a second in another
 * order each time. Then a second that took several pages may lack some.
 */
async function readServed(
  context: CrawlContext,
  reading: RowsReading,
  second: number,
): Promise<ServedOfSecond> {
  let at: SecondProgress = {
    pages: [],
    unserved: 0,
    failure: undefined,
    offset: 0,
    until: Infinity,
    inRow: 0,
    hasEnded: false,
  };
  for (let requests = 0; requests < MOST_REQUESTS && !at.hasEnded; requests += 1) {
    if (reading.stop.finishing.aborted || at.inRow === MOST_UNSERVED_IN_ROW) break;
    at = await readRows(context, reading, second, at);
  }
  const { pages, unserved, failure, hasEnded } = at;
  const isInOrder = pages.length === 1 || !reading.dataset.job.paginator.wholeSeconds;
  return { pages, unserved, failure, isWhole: hasEnded && unserved === 0 && isInOrder };
}

async function readRows(
  context: CrawlContext,
  reading: RowsReading,
  second: number,
  at: SecondProgress,
): Promise<SecondProgress> {
  const { maxSize } = reading.dataset.job.paginator;
  const { offset, until } = at;
  const limit = until === Infinity ? maxSize : Math.max(1, Math.floor((until - offset) / 2));
  try {
    const page = await askRows(context, reading, { second, offset, limit });
    if (page === undefined) return { ...at, inRow: MOST_UNSERVED_IN_ROW };
    const next = offset + page.value.reading.positions.length;
    const hasEnded = page.value.step.cursor === undefined;
    const left = next >= until ? Infinity : until;
    return { ...at, pages: [...at.pages, page], offset: next, until: left, inRow: 0, hasEnded };
  } catch (error) {
    if (!mayConcernPage(error)) throw error;
    if (limit > 1) return { ...at, failure: error, until: offset + limit };
    const isFirst = at.pages.length === 0 && at.unserved === 0;
    if (isFirst && !(await servesElsewhere(context, reading, spanOfSecond(second)))) throw error;
    const [unserved, inRow] = [at.unserved + 1, at.inRow + 1];
    return { ...at, failure: error, offset: offset + 1, until: Infinity, unserved, inRow };
  }
}

/**
 * True if the server answers the same request for another second: then the page causes the failure. The other
 * second may hold such a row too, so several are tried.
 */
async function servesElsewhere(context: CrawlContext, reading: RowsReading, span: Range): Promise<boolean> {
  const { from, to } = span;
  const middle = Math.floor((from + to) / 2);
  for (const second of new Set([to - 1 > from ? to - 1 : to, middle > from ? middle : to, from - 1])) {
    try {
      if ((await askRows(context, reading, { second, offset: 0, limit: 1 })) !== undefined) return true;
    } catch (error) {
      if (!mayConcernPage(error)) throw error;
    }
  }
  return false;
}

/** Requests rows of a second; undefined if the endpoint cannot be asked for them. */
async function askRows(
  { api, lts, tuning }: CrawlContext,
  { dataset, lease, priority, stop, network }: RowsReading,
  rows: AskedRows,
): Promise<FetchedPage | undefined> {
  const { limits } = tuning(dataset);
  const limit = limits.limit(rows.limit);
  const paging = dataset.job.paginator.ofSecond?.(rows.second, { ...rows, limit });
  if (paging === undefined) return undefined;
  const page = await askPage(
    { api, lts, network },
    {
      dataset: rowByRow(dataset, rows.second, paging),
      stream: lease.stream,
      cursor: undefined,
      size: limit,
      trust: limits.openSpan(spanOfSecond(rows.second)),
      priority,
      signal: stop.leaving,
      attemptsInDoubt: rows.limit > 1 ? 1 : ATTEMPTS_IN_DOUBT,
    },
  );
  const { reading, step } = page.value;
  return { ...page, value: { reading, step } };
}

/** The dataset with a paginator for some rows of a second. If a step has a cursor, there may be more rows. */
function rowByRow(
  { name, job }: Dataset,
  second: number,
  paging: ReturnType<Paginator<unknown>['request']>,
): Dataset {
  const span = spanOfSecond(second);
  const { maxSize } = job.paginator;
  const paginator: Paginator<unknown> = {
    maxSize,
    wholeSeconds: true,
    start: () => undefined,
    request: () => paging,
    next: (_, { positions, size }) => {
      for (const position of positions) requireInside(position, span);
      return { completed: undefined, cursor: positions.length < size ? undefined : positions.length };
    },
  };
  return { name, job: { ...job, paginator } };
}
