import type { Flight } from '../../budget/in-flight.ts';
import { commitPage, type PageCommit } from '../../write/commit.ts';
import { isEmpty } from '../../write/copy-direct.ts';
import { cutLease, type Lease } from '../../ledger/leases.ts';
import { recordFailure } from '../../ledger/failures.ts';
import type { Refusal } from '../../ledger/refused.ts';
import { mayConcernPage, ApiTimeoutError, type EtlError } from '../../errors.ts';
import { formatRange, spanOfSecond, type Range } from '../../range.ts';
import type { Stop } from '../../stop.ts';
import type { CrawlContext } from '../crawl-context.ts';
import { ATTEMPTS_IN_DOUBT } from '../failure-policy.ts';
import { readServed, servesElsewhere } from './apart.ts';
import { askPage } from './page/ask-page.ts';
import { commitWithRetry } from '../commit-with-retry.ts';
import type { NetworkWatch } from '../network-guard.ts';
import { requirePredecessors } from '../gaps.ts';
import { leaseLength } from './lease-length.ts';
import type { SpanTrust } from '../limit-trust.ts';
import type { Assignment } from './planner.ts';
import { needsWholeSeconds, toCommit, toCommitOfSecond, type FetchedPage } from './page/to-commit.ts';

/** A page that takes longer than this, in milliseconds, is worth a warning: usual ones take a fraction of a second. */
const SLOW_PAGE_MS = 15_000;

/** The other readers of this process. */
export interface Peers {
  /** How many have nothing to read, of those that this process should have. */
  readonly idle: () => number;
  /** There is something to read for them. */
  readonly wake: () => void;
}

/** A lease to be read. */
export interface LeaseReading extends Assignment {
  readonly stop: Stop;
  /** Since the reading began. */
  readonly network: NetworkWatch;
  readonly peers: Peers;
}

/** A page that the server did not serve, though it serves others. */
interface Doubt {
  /** The seconds before this one hold what it does not serve, as far as is known. */
  readonly until: number;
  /** End of the seconds that are asked for. */
  readonly to: number;
}

/** After so many seconds of a lease that the server does not serve whole, the rest is refused. */
const MOST_PASSED = 64;
/** The same, where nothing came between them. */
const MOST_IN_ROW = 8;

/** How far the reading of a lease has come. */
interface LeaseProgress {
  /** The lease, as far as it is still to be read. */
  readonly held: Lease;
  /** Where the next page begins; undefined where the lease is read. */
  readonly cursor: unknown;
  /** Rows of later seconds are new; undefined if none is known to be. */
  readonly newAfter: number | undefined;
  /** Pages of a second that is written as a whole, and is not whole yet. */
  readonly waiting: readonly FetchedPage[];
  /** Whether a short page may have been cut. */
  readonly trust: SpanTrust;
  /** Set while less is asked for at once, because a page was not served. */
  readonly doubt?: Doubt | undefined;
  /** Seconds that were passed over because the server does not serve some row of them: all, and since the last row came. */
  readonly passed: { readonly all: number; readonly inRow: number };
  /** What was read of it so far, for the log. */
  readonly read: { readonly requests: number; readonly rows: number; readonly bytes: number };
}

/**
 * Reads a lease that is held to its end: page → rows → commit. What was committed stays, whatever ends it early.
 * @yields after each page what of the lease is left, in unix seconds
 */
export async function* readPages(context: CrawlContext, reading: LeaseReading): AsyncGenerator<Range, void> {
  const { dataset, lease, priority, stop } = reading;
  let progress: LeaseProgress = {
    held: lease,
    cursor: dataset.job.paginator.start(lease.span),
    newAfter: await newAfterOf(context, reading),
    waiting: [],
    trust: context.tuning(dataset).limits.openSpan(lease.span),
    passed: { all: 0, inRow: 0 },
    read: { requests: 0, rows: 0, bytes: 0 },
  };
  const began = context.clock.monotonic();
  while (progress.cursor !== undefined && !stop.finishing.aborted) {
    await context.disk.wait(stop.finishing);
    progress = await readOrDivide(context, reading, progress);
    yield progress.held.span;
  }
  const ms = Math.round(context.clock.monotonic() - began);
  const { scope } = lease.stream;
  const range = formatRange(lease.span);
  context.logger.debug({ dataset: dataset.name, scope, range, priority, ...progress.read, ms }, 'range read');
}

/**
 * Only for history: pages of the tail are small. Nor for what is read again, or written as whole seconds, or read for one
 * pool beside the rows of others.
 */
async function newAfterOf({ database }: CrawlContext, assignment: LeaseReading): Promise<number | undefined> {
  const { dataset, lease, priority } = assignment;
  const { stream, span } = lease;
  if (priority !== 'backfill' || stream.scope !== '' || needsWholeSeconds(assignment)) return undefined;
  return (await isEmpty(database, Object.values(dataset.job.tables), span)) ? span.from : undefined;
}

/** Reads a page; one that the server does not serve, though it serves others, is asked for in smaller parts. */
async function readOrDivide(
  context: CrawlContext,
  reading: LeaseReading,
  progress: LeaseProgress,
): Promise<LeaseProgress> {
  try {
    return await readPage(context, reading, progress);
  } catch (error) {
    const { ofSecond } = reading.dataset.job.paginator;
    if (ofSecond === undefined || !mayConcernPage(error) || reading.stop.finishing.aborted) throw error;
    return divide(context, reading, progress, error);
  }
}

/** Asks for the first half of the seconds that may hold what is not served; a second alone is passed over. */
async function divide(
  context: CrawlContext,
  reading: LeaseReading,
  progress: LeaseProgress,
  failure: EtlError,
): Promise<LeaseProgress> {
  const { from, to } = progress.held.span;
  const { doubt } = progress;
  if (doubt === undefined && !(await servesElsewhere(context, reading, progress.held.span))) throw failure;
  const until = doubt?.to ?? Math.min(to, from + likelySeconds(context, reading));
  if (until - from > 1) return goOnIn(context, reading, progress, until);
  return passSecond(context, reading, progress, failure);
}

/** How many seconds the page may have held. */
function likelySeconds({ tuning }: CrawlContext, { dataset }: LeaseReading): number {
  return Math.ceil(2 * (tuning(dataset).density.pageSeconds() ?? Infinity));
}

/** Goes on with half of the seconds before `until`, or with all that is left of the lease where they are read. */
function goOnIn(
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
    cursor: from < to ? dataset.job.paginator.start(part, !isBehind) : undefined,
    // What was written of the first second comes again.
    newAfter: undefined,
    waiting: [],
    trust: context.tuning(dataset).limits.openSpan(part),
    doubt: isBehind ? undefined : { until, to: end },
  };
}

/** Writes what the server serves of a second, refuses it unless that is all of it, and goes on behind it. */
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
  const { until = second.to } = served.isWhole ? (progress.doubt ?? {}) : {};
  return goOnIn(context, reading, { ...progress, held: left, passed }, until);
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

/** Asks for a page and writes it; its place in memory is free again behind it. */
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
    await flight.turn();
    return await commitAndAdvance(context, reading, progress, page);
  } finally {
    flight.end();
  }
}

/** Of a dataset whose records follow from each other: what the page follows from has to be there. */
async function requireBefore(
  context: CrawlContext,
  { priority, stop }: LeaseReading,
  span: Range,
  page: FetchedPage,
): Promise<void> {
  // Pages look beyond their lease: what is named there is the next one's.
  const before = page.value.reading.joins?.before?.filter(({ namedAt }) => namedAt < span.to) ?? [];
  if (before.length === 0) return;
  const { api } = context;
  await requirePredecessors(context, { api, priority, signal: stop.leaving }, before, span.from);
}

/** Writes a page, unless its rows have to wait for more of their second, and goes on behind it. */
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
  return done === undefined && step.cursor !== undefined ? next : await goOn(context, assignment, next);
}

/** The last second of a span of which a page has a row. */
function lastSecondOf({ value }: FetchedPage, { from, to }: Range): number {
  return value.reading.positions.reduce((last, { utime }) => Math.max(last, Math.min(utime, to)), from);
}

/** What comes behind seconds that are done. */
async function goOn(
  context: CrawlContext,
  reading: LeaseReading,
  progress: LeaseProgress,
): Promise<LeaseProgress> {
  const { doubt, cursor } = progress;
  if (doubt !== undefined)
    return cursor === undefined ? goOnIn(context, reading, progress, doubt.until) : progress;
  return cursor === undefined ? progress : await shorten(context, reading, progress);
}

function write(context: CrawlContext, network: NetworkWatch, commit: PageCommit): Promise<boolean> {
  return commitWithRetry(context, network, () => commitPage(context.database, context.partitions, commit));
}

/**
 * Gives the end of a lease back, where it turned out to be far more work than one lease should be, or where others have
 * nothing to read: then it is shared with them.
 */
async function shorten(
  context: CrawlContext,
  { dataset, peers }: LeaseReading,
  progress: LeaseProgress,
): Promise<LeaseProgress> {
  const { from, to } = progress.held.span;
  const { density, limits } = context.tuning(dataset);
  const lengthOf = leaseLength(1 + peers.idle(), density.pageSeconds());
  const seconds = lengthOf(peers.idle() > 0 ? to - from : Infinity);
  if (to - from <= 2 * seconds) return progress;
  const held = await cutLease(context.database, progress.held, from + seconds);
  peers.wake();
  // What lies behind the cut is asked for in another span, so that it cannot clear a page of this one.
  return {
    ...progress,
    held,
    cursor: dataset.job.paginator.start(held.span),
    trust: limits.openSpan(held.span),
  };
}

/** Asks for the next page; undefined where the server ran out of time and a smaller page will be asked for. */
async function fetchPage(
  { api, lts, tuning }: CrawlContext,
  { dataset, lease, priority, stop, network }: LeaseReading,
  { held, cursor, trust, doubt, passed }: LeaseProgress,
  flight: Flight,
): Promise<FetchedPage | undefined> {
  const { size: pageSize, limits } = tuning(dataset);
  const size = limits.limit(pageSize.current());
  const { stream } = lease;
  const toWrite = needsWholeSeconds({ dataset, stream }) ? undefined : held.span;
  try {
    const page = await askPage(
      { api, lts, network },
      {
        dataset,
        stream,
        cursor,
        size,
        trust,
        priority,
        flight,
        signal: stop.leaving,
        attemptsInDoubt: doubt === undefined && passed.all === 0 ? undefined : ATTEMPTS_IN_DOUBT,
        toWrite,
      },
    );
    pageSize.arrived();
    const { reading, step, content } = page.value;
    // The records themselves are let go: those of a long second would all stay in memory until it is committed.
    return { ...page, value: { reading, step, ...(content && { content }) } };
  } catch (error) {
    const { limit } = dataset.job.paginator.request(cursor, size);
    if (!(error instanceof ApiTimeoutError) || !pageSize.timedOut(limit)) throw error;
    // What cannot be split is asked for whole: the same request again would be answered alike, for ever.
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
