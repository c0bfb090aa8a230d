import type { AnyJob, Dataset } from './dataset.ts';
import type { Walk } from './walk.ts';

/** Within the freshness wanted the tail asks so often: a row waits for the next round, and for its requests. */
const ROUNDS = 2.5;
/** Requests of a watermark, with which each round of the tail begins. */
const WATERMARK_REQUESTS = 2;
/** The rounds of the tail take at most this part of the budget, so that a backfill advances at any plan. */
const ROUNDS_SHARE = 0.4;
/** What is asked less often than every round takes at most this part beside them. */
const SLOW_SHARE = 0.1;
/** Rows that have matured are read again when so many seconds of them have gathered. */
export const SECOND_READING_SECONDS = 300;
/** Look-ups see so often whether anything is new, in seconds. */
const LOOKUP_SECONDS = 60;

/** A masterchain block comes about so often, also while nothing happens, in seconds. */
const BLOCK_SECONDS = 2.5;

/** Seconds that a dataset stays behind the watermark: its own delay takes the place of `watermarkDelay`. */
export function delayOf({ job }: Dataset, watermarkDelay: number): number {
  return job.delaySeconds ?? watermarkDelay;
}

/** Seconds between two rounds of the tail, where the budget has room for them. */
function roundSeconds(freshness: number): number {
  return freshness / ROUNDS;
}

/** What decides how often the tail asks. */
export interface TailPlan {
  /** Seconds that the newest rows may be behind what may be read. */
  readonly freshness: number;
  /** Requests a second that are allowed. */
  readonly rps: number;
}

/** Seconds between two requests of the tail for a dataset, where the budget has room for them. */
export function wantedPauseSeconds({ everySeconds = 0 }: Dataset['job'], freshness: number): number {
  return Math.max(roundSeconds(freshness), everySeconds);
}

/** Seconds between two rounds of the tail: well within the freshness wanted, longer where that would cost more than its share. */
export function tailPeriodSeconds(datasets: readonly Dataset[], { freshness, rps }: TailPlan): number {
  const often = datasets.filter(({ job }) => job.everySeconds === undefined);
  return Math.max(roundSeconds(freshness), (often.length + WATERMARK_REQUESTS) / (rps * ROUNDS_SHARE));
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

/** Requests a minute of the watermark, for all datasets together. */
export function watermarkRequests(freshness: number): number {
  return (WATERMARK_REQUESTS * 60) / roundSeconds(freshness);
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
  const first = 60 / wantedPauseSeconds(job, freshness);
  return first + (job.maturitySeconds === undefined ? 0 : 60 / SECOND_READING_SECONDS);
}
