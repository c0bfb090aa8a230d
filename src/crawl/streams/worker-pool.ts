import { EtlError, EXIT, IncompleteError, LeaseLostError } from '../../errors.ts';
import { recordFailure } from '../../db/coverage/failures.ts';
import { refuse } from '../../db/coverage/refused.ts';
import type { Stop } from '../../stop.ts';
import { crawlLease } from './crawler.ts';
import type { CrawlContext } from '../crawl-context.ts';
import type { Assignment } from './planner.ts';

/** How long an idle worker waits before it looks for work again, in milliseconds. */
const IDLE = 250;

/** The API is there, but does not answer this as it should: another range or dataset may fare better. */
export const ANSWERED_WRONGLY: ReadonlySet<string> = new Set([
  'api_failed',
  'api_timeout',
  'request_too_large',
  'bad_response',
]);

/** What to do with a range that the API does not give while it is there. */
export interface Temper {
  /** True: it is set aside for a while, as what is refused for good is, and the rest is read. False: it is thrown. */
  readonly setsAside: boolean;
}

interface CrewOptions {
  readonly context: CrawlContext;
  readonly workers: number;
  readonly stop: Stop;
  /** The next lease; undefined where nothing is free now. */
  readonly take: () => Promise<Assignment | undefined>;
  /** Asked when nothing is free and nobody here is busy: false where work may still come. */
  readonly isOver: () => Promise<boolean>;
  /** Milliseconds between two looks for work where there was none; default 250. */
  readonly idle?: number;
  readonly temper?: Temper;
}

/**
 * Several leases at once, until nothing is left or `stop` says so. One lease that the API refuses for good is set
 * aside and told; an API or a database that is away ends the crew, and its caller decides.
 */
export async function runCrew(options: CrewOptions): Promise<void> {
  const crew = { busy: 0, failed: false };
  const ends = await Promise.allSettled(Array.from({ length: options.workers }, () => work(options, crew)));
  const failure = ends.find((end) => end.status === 'rejected');
  if (failure !== undefined) throw failure.reason;
}

async function work(options: CrewOptions, crew: { busy: number; failed: boolean }): Promise<void> {
  const { context, stop, take, isOver, idle = IDLE, temper } = options;
  while (!stop.finishing.aborted && !crew.failed) {
    crew.busy += 1;
    const assignment = await attempt(crew, take);
    if (assignment !== undefined) await attempt(crew, () => carryOut(context, assignment, stop, temper));
    crew.busy -= 1;
    if (assignment !== undefined) continue;
    // A lease in another worker's hands may be cut and leave work for this one.
    if (crew.busy === 0 && (await attempt(crew, isOver))) return;
    await context.clock.sleep(idle, stop.finishing).catch(() => undefined);
  }
}

async function attempt<T>(crew: { busy: number; failed: boolean }, task: () => Promise<T>): Promise<T> {
  try {
    return await task();
  } catch (error) {
    crew.failed = true;
    throw error;
  }
}

/** Reads a lease; what the API refuses for good is set aside and told, anything else is thrown. */
export async function carryOut(
  context: CrawlContext,
  assignment: Assignment,
  stop: Stop,
  { setsAside }: Temper = { setsAside: false },
): Promise<void> {
  const { dataset, lease } = assignment;
  try {
    await crawlLease(context, assignment, stop);
  } catch (error) {
    if (stop.finishing.aborted) return;
    if (!(error instanceof EtlError) || error instanceof LeaseLostError) throw error;
    // The run's own cap is no fault of the range.
    if (error instanceof IncompleteError) throw error;
    await recordFailure(context.database, lease.stream, error).catch(() => undefined);
    const isPassing = error.retryable && !(setsAside && ANSWERED_WRONGLY.has(error.code));
    if (isPassing || error.exitCode === EXIT.usage) throw error;
    context.logger.error(
      { dataset: dataset.name, code: error.code, reason: error.message },
      'range set aside',
    );
    await refuse(context.database, lease.stream, lease.span, 'failing', error.message);
  }
}
