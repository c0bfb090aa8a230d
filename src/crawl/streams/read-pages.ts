import type { Flight } from '../../budget/flight.ts';
import { freshBehind, type Fresh } from '../../dataset/fresh.ts';
import { freshOf } from '../../db/coverage/fresh-range.ts';
import { commitPage, type PageCommit } from '../../db/write/commit.ts';
import { cutLease, type Lease } from '../../db/coordination/leases.ts';
import { ApiTimeoutError } from '../../errors.ts';
import { formatRange, type Range } from '../../range.ts';
import type { Stop } from '../../stop.ts';
import type { CrawlContext } from '../crawl-context.ts';
import { askPage } from './page/ask-page.ts';
import { commitWithRetry } from '../commit-with-retry.ts';
import type { NetworkWatch } from '../network-guard.ts';
import { leaseLength } from './lease-length.ts';
import type { SpanTrust } from './page/limit-trust.ts';
import type { Assignment } from './planner.ts';
import { needsWholeSeconds, toCommit, type FetchedPage } from './page/to-commit.ts';

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

/** How far the reading of a lease has come. */
interface LeaseProgress {
  /** The lease, as far as it is still to be read. */
  readonly held: Lease;
  /** Where the next page begins; undefined where the lease is read. */
  readonly cursor: unknown;
  /** Which of its records are new; undefined where none is known to be. */
  readonly fresh: Fresh | undefined;
  /** Pages of a second that is written as a whole, and is not whole yet. */
  readonly waiting: readonly FetchedPage[];
  /** Whether a short page may have been cut. */
  readonly trust: SpanTrust;
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
    fresh: await freshOfLease(context, reading),
    waiting: [],
    trust: context.tuning(dataset).limits.openSpan(lease.span),
    read: { requests: 0, rows: 0, bytes: 0 },
  };
  const began = context.clock.monotonic();
  while (progress.cursor !== undefined && !stop.finishing.aborted) {
    await context.disk.wait(stop.finishing);
    progress = await readPage(context, reading, progress);
    yield progress.held.span;
  }
  const ms = Math.round(context.clock.monotonic() - began);
  const { scope } = lease.stream;
  const range = formatRange(lease.span);
  context.logger.debug({ dataset: dataset.name, scope, range, priority, ...progress.read, ms }, 'range read');
}

/**
 * Of history alone: pages of the tail are small. Nor of what is read again, or written as whole seconds, or read for one pool
 * beside the rows of others.
 */
async function freshOfLease(
  { database }: CrawlContext,
  assignment: LeaseReading,
): Promise<Fresh | undefined> {
  const { dataset, lease, priority } = assignment;
  const { stream, span } = lease;
  if (priority !== 'backfill' || stream.scope !== '' || needsWholeSeconds(assignment)) return undefined;
  return freshOf(database, { dataset: dataset.name, tables: dataset.job.tables, span });
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
    await flight.turn();
    return await commitAndAdvance(context, reading, progress, page);
  } finally {
    flight.end();
  }
}

/** Writes a page, unless its rows have to wait for more of their second, and goes on behind it. */
async function commitAndAdvance(
  context: CrawlContext,
  assignment: LeaseReading,
  { held, fresh, waiting, trust, read }: LeaseProgress,
  page: FetchedPage,
): Promise<LeaseProgress> {
  const { step } = page.value;
  const began = context.clock.monotonic();
  const pages = [...waiting, page];
  const done = step.completed ?? step.saturated;
  const isWritten = done !== undefined || !needsWholeSeconds(assignment);
  const wereNew = isWritten && (await write(context, assignment.network, toCommit(assignment, held, pages)));
  report(context, assignment, { ...page, writingMs: context.clock.monotonic() - began });
  const left = done === undefined ? held : { ...held, span: { from: done.to, to: held.span.to } };
  const next = {
    held: left,
    cursor: step.cursor,
    fresh: wereNew
      ? freshBehind(fresh, page.value.reading.positions, done?.to, page.value.brought)
      : undefined,
    waiting: isWritten ? [] : pages,
    trust,
    read: {
      requests: read.requests + 1,
      rows: read.rows + page.value.reading.positions.length,
      bytes: read.bytes + page.bytes,
    },
  };
  return done === undefined || step.cursor === undefined ? next : await shorten(context, assignment, next);
}

function write(context: CrawlContext, network: NetworkWatch, commit: PageCommit): Promise<boolean> {
  return commitWithRetry(context, network, async (attempt) => {
    const wereNew = await commitPage(context.database, context.partitions, commit);
    // What was sent in vain may still be on its way to a connection that was given up.
    if (attempt === 1) for (const { release } of commit.rows) release();
    return wereNew;
  });
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
  { api, lts, threads, tuning }: CrawlContext,
  { dataset, lease, priority, stop, network }: LeaseReading,
  { held, cursor, fresh, trust }: LeaseProgress,
  flight: Flight,
): Promise<FetchedPage | undefined> {
  const { size: pageSize, limits } = tuning(dataset);
  const size = limits.limit(pageSize.current());
  const { stream } = lease;
  const toWrite = {
    span: needsWholeSeconds({ dataset, stream }) ? undefined : held.span,
    fresh,
    threads,
  };
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
        toWrite,
      },
    );
    pageSize.arrived();
    const { reading, step, content, brought } = page.value;
    // The records themselves are let go: those of a long second would all stay in memory until it is committed.
    return { ...page, value: { reading, step, ...(content && { content }), ...(brought && { brought }) } };
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
