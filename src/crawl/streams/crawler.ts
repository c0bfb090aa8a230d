import type { Dataset } from '../../dataset/dataset.ts';
import { commitPage } from '../../db/write/commit.ts';
import {
  cutLease,
  LEASE_SECONDS,
  prolongLease,
  releaseLease,
  type Lease,
} from '../../db/coordination/leases.ts';
import { ApiTimeoutError, LeaseLostError } from '../../errors.ts';
import { formatRange, type Range } from '../../range.ts';
import type { Stop } from '../../stop.ts';
import type { CrawlContext } from '../crawl-context.ts';
import { askPage } from './ask-page.ts';
import { commitPatiently } from './commit-with-retry.ts';
import type { Assignment } from './planner.ts';
import { toCommit, type FetchedPage } from './to-commit.ts';

/** A page that takes longer than this, in milliseconds, is worth a warning: usual ones take a fraction of a second. */
const SLOW_PAGE_MS = 15_000;

/**
 * Reads a lease to its end: page → rows → commit. Whatever ends it early, what was committed stays, and the rest is
 * free again.
 * @throws whatever the API or the database refused, after the lease was given back
 */
export async function crawlLease(context: CrawlContext, assignment: Assignment, stop: Stop): Promise<void> {
  const { dataset, lease, priority } = assignment;
  const { paginator, replacesRows } = dataset.job;
  let pages: FetchedPage[] = [];
  let held = lease;
  let cursor: unknown = paginator.start(lease.span);
  const heartbeat = keepAlive(context, lease);
  try {
    while (cursor !== undefined && !stop.finishing.aborted) {
      await context.disk.wait(stop.finishing);
      const page = await fetchPage(context, assignment, cursor, stop.leaving);
      if (page === undefined) continue;
      pages.push(page);
      const done = page.value.step.completed ?? page.value.step.saturated;
      // Rows that are exchanged wait until their second is whole; all others are written as they come.
      if (done !== undefined || !replacesRows) {
        const commit = toCommit(assignment, held, pages);
        await commitPatiently(context, () => commitPage(context.database, context.partitions, commit));
        pages = [];
      }
      if (done !== undefined) held = { ...held, span: { from: done.to, to: held.span.to } };
      report(context, assignment, page);
      cursor = page.value.step.cursor;
      const share =
        cursor === undefined || done === undefined ? undefined : shareOf(context, dataset, held.span);
      if (share !== undefined) {
        held = await cutLease(context.database, held, share.to);
        cursor = paginator.start(share);
      }
    }
    context.logger.info({ dataset: dataset.name, range: formatRange(lease.span), priority }, 'lease ended');
  } catch (error) {
    if (!(error instanceof LeaseLostError)) throw error;
    context.logger.warn({ dataset: dataset.name, range: formatRange(held.span) }, 'lease lost');
  } finally {
    clearInterval(heartbeat);
    await releaseLease(context.database, held).catch(() => undefined);
  }
}

/** A page that takes long must not cost the lease; one that a frozen process holds does expire. */
function keepAlive({ database, logger }: CrawlContext, lease: Lease): NodeJS.Timeout {
  return setInterval(
    () => {
      prolongLease(database, lease).catch((error: unknown) => {
        logger.debug({ dataset: lease.stream.dataset, reason: String(error) }, 'lease not prolonged');
      });
    },
    (LEASE_SECONDS * 1000) / 3,
  );
}

/** Asks for the next page; undefined where the server ran out of time and a smaller page will be asked for. */
async function fetchPage(
  { api, tuning }: CrawlContext,
  { dataset, lease, priority }: Assignment,
  cursor: unknown,
  signal: AbortSignal,
): Promise<FetchedPage | undefined> {
  const { size } = tuning(dataset);
  const asked = size.current();
  try {
    const page = await askPage(api, { dataset, stream: lease.stream, cursor, size: asked, priority, signal });
    size.arrived();
    const { reading, step } = page.value;
    // The records themselves are let go: those of a long second would all stay in memory until it is committed.
    return { ...page, value: { reading, step } };
  } catch (error) {
    const { limit } = dataset.job.paginator.request(cursor, asked);
    if (!(error instanceof ApiTimeoutError) || !size.timedOut(limit)) throw error;
    // What cannot be split is asked for whole: the same request again would be answered alike, for ever.
    if (dataset.job.paginator.request(cursor, size.current()).limit >= limit) throw error;
    return undefined;
  }
}

function report(
  { tuning, onPage, logger }: CrawlContext,
  { dataset, lease }: Assignment,
  page: FetchedPage,
): void {
  const { scope } = lease.stream;
  const { completed } = page.value.step;
  const records = page.value.reading.positions.length;
  if (page.ms > SLOW_PAGE_MS)
    logger.warn(
      { dataset: dataset.name, records, ms: Math.round(page.ms) },
      'slow page: look at ms and request in etl.pages, at the line, and at the status of the source',
    );
  if (completed !== undefined) tuning(dataset).density.learn(records, completed);
  const seconds = completed === undefined ? 0 : completed.to - completed.from;
  logger.debug(
    { dataset: dataset.name, records, seconds, bytes: page.bytes, ms: Math.round(page.ms) },
    'page committed',
  );
  onPage({ dataset: dataset.name, scope, records, completed, bytes: page.bytes, ms: page.ms });
}

/** The part of a lease to keep, where it turned out to be far more work than one lease should be. */
function shareOf({ tuning }: CrawlContext, dataset: Dataset, span: Range): Range | undefined {
  const seconds = tuning(dataset).density.leaseSeconds();
  return span.to - span.from > 2 * seconds ? { from: span.from, to: span.from + seconds } : undefined;
}
