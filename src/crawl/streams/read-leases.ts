import { refuse } from '../../db/coverage/refused.ts';
import { NoEndpointError } from '../../errors.ts';
import { formatRange } from '../../range.ts';
import type { Stop } from '../../stop.ts';
import type { CrawlContext } from '../crawl-context.ts';
import { readUnlessRefused, type OnWrongResponse } from '../failure-policy.ts';
import { crawlLease } from './crawler.ts';
import type { Assignment } from './planner.ts';

/** How long an idle loop waits before it looks for work again. */
const IDLE_MS = 250;

interface ReadLeasesOptions {
  readonly context: CrawlContext;
  /** How many leases are read at once. */
  readonly concurrency: number;
  readonly stop: Stop;
  /** The next lease; undefined where nothing is free now. */
  readonly take: () => Promise<Assignment | undefined>;
  /** Asked when nothing is free and nobody here is busy: false where work may still come. */
  readonly isOver: () => Promise<boolean>;
  /** Between two searches for work where there was none; default 250. */
  readonly idleMs?: number;
  /** Default: throw. */
  readonly onWrongResponse?: OnWrongResponse;
}

interface Shared {
  busy: number;
  failed: boolean;
}

/**
 * Reads several leases at once, until nothing is left or `stop` says so. One lease for which the API fails for good is
 * refused for a while and logged; an API or a database that is away ends all, and the caller decides.
 */
export async function readLeases(options: ReadLeasesOptions): Promise<void> {
  const shared: Shared = { busy: 0, failed: false };
  const ends = await Promise.allSettled(
    Array.from({ length: options.concurrency }, () => work(options, shared)),
  );
  const failure = ends.find((end) => end.status === 'rejected');
  if (failure !== undefined) throw failure.reason;
}

async function work(options: ReadLeasesOptions, shared: Shared): Promise<void> {
  const { context, stop, take, isOver, idleMs = IDLE_MS, onWrongResponse } = options;
  while (!stop.finishing.aborted && !shared.failed) {
    shared.busy += 1;
    const assignment = await endAllOnError(shared, take);
    if (assignment !== undefined)
      await endAllOnError(shared, () => readOrRefuse(context, assignment, stop, onWrongResponse));
    shared.busy -= 1;
    if (assignment !== undefined) continue;
    // A lease in another worker's hands may be cut and leave work for this one.
    if (shared.busy === 0 && (await endAllOnError(shared, isOver))) return;
    await context.clock.sleep(idleMs, stop.finishing).catch(() => undefined);
  }
}

async function endAllOnError<T>(shared: Shared, task: () => Promise<T>): Promise<T> {
  try {
    return await task();
  } catch (error) {
    shared.failed = true;
    throw error;
  }
}

/** Reads a lease. A range for which the API fails for good is refused for a while and logged. */
export async function readOrRefuse(
  context: CrawlContext,
  assignment: Assignment,
  stop: Stop,
  onWrongResponse: OnWrongResponse = 'throw',
): Promise<void> {
  const { database, logger } = context;
  const { dataset, lease } = assignment;
  const failure = await readUnlessRefused({ database, stream: lease.stream, stop, onWrongResponse }, () =>
    crawlLease(context, assignment, stop),
  );
  if (failure === undefined) return;
  const range = formatRange(lease.span);
  const { code, message } = failure;
  // The client has said once that there is no such endpoint.
  const level = failure instanceof NoEndpointError ? 'debug' : 'error';
  logger[level](
    { dataset: dataset.name, scope: lease.stream.scope, range, code, reason: message },
    'range refused',
  );
  await refuse(database, lease.stream, lease.span, { reason: 'failing', detail: failure.message });
}
