import type { AnyJob, Dataset } from './dataset.ts';
import { BLOCK_SECONDS, roundSeconds } from './head-pace.ts';
import type { TailPlan } from './tail-plan.ts';
import type { Walk } from './walk.ts';

/** The rounds of the tail take at most this part of the budget, so that a backfill advances at any plan. */
const ROUNDS_SHARE = 0.3;
/** What is asked less often than every round takes at most this part beside them. */
const SLOW_SHARE = 0.1;
/** Rows that have matured are read again when so many seconds of them have gathered. */
export const SECOND_READING_SECONDS = 300;
/** Look-ups see so often whether anything is new, in seconds. */
const LOOKUP_SECONDS = 60;

/** Seconds that a dataset stays behind the watermark: its own delay takes the place of `watermarkDelay`. */
export function delayOf({ job }: Dataset, watermarkDelay: number): number {
  return job.delaySeconds ?? watermarkDelay;
}

/** Seconds between two requests of the tail for a dataset at most, where the budget has room for them. */
export function wantedPauseSeconds({ everySeconds = 0 }: Dataset['job'], freshness: number): number {
  return Math.max(roundSeconds(freshness), everySeconds);
}

/**
 * Seconds between two rounds of the tail at least: a round begins when there is something new to read. Well within the
 * freshness wanted, longer where that would cost more than its share. `interval` is how often blocks come, where that is
 * known: else it is the most that it may be.
 */
export function tailPeriodSeconds(
  datasets: readonly Dataset[],
  { freshness, rps }: TailPlan,
  interval?: number,
): number {
  const often = datasets.filter(({ job }) => job.everySeconds === undefined);
  return Math.max(roundSeconds(freshness, interval), often.length / (rps * ROUNDS_SHARE));
}

/**
 * Seconds that a dataset pauses for beyond the rounds of the tail: as it says, longer where its streams cost too much.
 * `streams` is how many there are of it.
 */
export function pauseSeconds(
  { job }: Dataset,
  streams: number,
  datasets: readonly Dataset[],
  { rps }: TailPlan,
): number {
  if (job.everySeconds === undefined) return 0;
  const slow = datasets.filter((other) => other.job.everySeconds !== undefined);
  return Math.max(job.everySeconds, (streams * slow.length) / (rps * SLOW_SHARE));
}

/** Seconds between two readings of a walk. */
export function walkSeconds(walk: Walk): number {
  return walk.kind === 'list' || walk.kind === 'sample' ? walk.everySeconds : LOOKUP_SECONDS;
}

/** Requests a minute of a walk while nothing happens, by its kind. */
const RESTING: Readonly<Record<Walk['kind'], (walk: Walk) => number>> = {
  list: (walk) => 60 / walkSeconds(walk),
  sample: (walk) => 60 / walkSeconds(walk),
  per_block: () => 60 / BLOCK_SECONDS,
  lookup: () => 0,
  backward: () => 0,
};

/**
 * Requests a minute that keep a dataset up to date while nothing happens; of one that is read pool by pool, for each pool.
 * Look-ups and histories cost nothing then.
 */
export function restingRequests(job: AnyJob, freshness: number): number {
  if (job.kind === 'collection')
    return job.walks.map((walk) => RESTING[walk.kind](walk)).reduce((sum, requests) => sum + requests, 0);
  // Nothing is new before there is a new block.
  const first = 60 / Math.max(BLOCK_SECONDS, wantedPauseSeconds(job, freshness));
  return first + (job.maturitySeconds === undefined ? 0 : 60 / SECOND_READING_SECONDS);
}
