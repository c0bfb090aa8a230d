import type { Dataset } from '../dataset/dataset.ts';
import type { Range } from '../range.ts';
import {
  delayOf,
  pauseSeconds,
  tailPeriodSeconds,
  wantedPauseSeconds,
  type TailPlan,
} from '../dataset/tail-pace.ts';

/** Tolerated lag beyond a dataset's own delay, in seconds. */
const LONGEST_LAG_SECONDS = 300;
/** If `ETL_FRESHNESS` is long: the tolerated lag in rounds of the tail. */
const LONGEST_LAG_ROUNDS = 4;
/** A head that is older has stopped: blocks come every few seconds. */
export const STILL_HEAD_SECONDS = 120;

/** The number of pools of a dataset that is read pool by pool is not known here. */
const ONE_STREAM = 1;

export interface LagLimits {
  /** `ETL_FRESHNESS`: seconds between two rounds of the tail. */
  readonly freshness: number;
  /** `ETL_WATERMARK_DELAY`: seconds that a dataset stays behind the head, unless it has a delay of its own. */
  readonly watermarkDelay: number;
  /** Tolerance in seconds instead of the default. */
  readonly maxLagSeconds?: number | undefined;
}

/**
 * Seconds between the clock and the end of what is covered, so it grows while nothing is read. Null if nothing is covered.
 */
export function lagOf(covered: readonly Range[], now: number): number | null {
  const end = covered.at(-1)?.to;
  return end === undefined ? null : ageOf(end, now);
}

/** Seconds since a moment. If the source's clock is ahead, the age is 0. */
export function ageOf(time: number, now: number): number {
  return Math.max(0, now - time);
}

/** How far a dataset lags in normal operation, without the seconds that its requests take. */
export interface RestingLag {
  readonly dataset: string;
  /** Seconds that it waits by design. */
  readonly delay: number;
  /** True if the dataset has a delay of its own, false if it uses the one for all. */
  readonly isOwn: boolean;
  /** Maximum seconds until the round that reads it, because a round may have just begun. */
  readonly round: number;
  /** True if the round is longer than wanted because the allowed rate leaves no room for more. */
  readonly isBoundByRate: boolean;
}

/** Seconds until the chain has named all blocks of a second in all shards, so that no row of it can still appear. */
export interface Naming {
  readonly usual: number;
  readonly most: number;
}

/** Measured over the seconds that became complete between the last polls; null if fewer than two polls are known. */
export function namingOf(
  polls: readonly { readonly newest: number; readonly utime: number }[],
): Naming | null {
  let [seconds, sum, most] = [0, 0, 0];
  for (const [index, { newest, utime }] of polls.entries()) {
    const from = polls[index - 1]?.utime ?? utime;
    if (from >= utime) continue;
    const [first, last] = [newest - from, newest - utime + 1];
    seconds += utime - from;
    sum += ((utime - from) * (first + last)) / 2;
    most = Math.max(most, first);
  }
  return seconds === 0 ? null : { usual: Math.round(sum / seconds), most };
}

/** The normal lag of each dataset that the daemon follows. */
export function restingLagsOf(
  datasets: readonly Dataset[],
  { watermarkDelay, ...plan }: TailPlan & Pick<LagLimits, 'watermarkDelay'>,
): RestingLag[] {
  const period = tailPeriodSeconds(datasets, plan);
  return datasets.map((dataset) => {
    const round = Math.max(period, pauseSeconds(dataset, ONE_STREAM, datasets, plan));
    return {
      dataset: dataset.name,
      delay: delayOf(dataset, watermarkDelay),
      isOwn: dataset.job.delaySeconds !== undefined,
      round,
      isBoundByRate: round > wantedPauseSeconds(dataset.job, plan.freshness),
    };
  });
}

/** Seconds that a dataset may lag: its own delay, the pause between two requests, and the tolerance. */
export function longestLagOf(dataset: Dataset, limits: LagLimits): number {
  const { freshness, watermarkDelay, maxLagSeconds } = limits;
  const tolerance = maxLagSeconds ?? Math.max(LONGEST_LAG_SECONDS, LONGEST_LAG_ROUNDS * freshness);
  return tolerance + delayOf(dataset, watermarkDelay) + (dataset.job.everySeconds ?? 0);
}

/** The maximum age of the newest block, in seconds. */
export function longestHeadAgeOf({ maxLagSeconds = 0 }: LagLimits): number {
  return Math.max(STILL_HEAD_SECONDS, maxLagSeconds);
}
