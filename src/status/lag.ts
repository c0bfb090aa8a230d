import type { Dataset } from '../dataset/dataset.ts';
import type { Range } from '../range.ts';
import {
  seenWithinSeconds,
  delayOf,
  pauseSeconds,
  tailPeriodSeconds,
  wantedPauseSeconds,
  type TailPlan,
} from '../dataset/tail-pace.ts';

/** A dataset may be so far behind its own delay before somebody should look at it, seconds. */
const LONGEST_LAG_SECONDS = 300;
/** With a long `ETL_FRESHNESS` so many rounds of the tail may pass. */
const LONGEST_LAG_ROUNDS = 4;
/** A head that is older than this does not move: blocks come every few seconds. */
export const STILL_HEAD_SECONDS = 120;

/** Of a dataset that is read pool by pool it is not known here how many there are. */
const ONE_STREAM = 1;

/** What decides how far behind the clock a dataset, or the head of the chain, may be. */
export interface LagLimits {
  /** Seconds between two rounds of the tail, as wanted. */
  readonly freshness: number;
  /** Seconds that every dataset stays behind the head by design, unless it has a delay of its own. */
  readonly watermarkDelay: number;
  /** Seconds of tolerance that were chosen instead of the default. */
  readonly maxLagSeconds?: number | undefined;
}

/** Seconds between the clock and the end of what is covered, so it grows while nothing happens; null where nothing is covered. */
export function lagOf(covered: readonly Range[], now: number): number | null {
  const end = covered.at(-1)?.to;
  return end === undefined ? null : ageOf(end, now);
}

/** Seconds since a moment; a source whose clock is ahead has an age of 0. */
export function ageOf(time: number, now: number): number {
  return Math.max(0, now - time);
}

/** What a dataset lags behind what the chain has named while nothing is wrong, but for the seconds that its requests take. */
export interface RestingLag {
  readonly dataset: string;
  /** Seconds that it waits then by design. */
  readonly delay: number;
  /** True of a delay of the dataset's own, false of the one that was set for all. */
  readonly isOwn: boolean;
  /** Seconds at most between what may be read then and the round that reads it: one may have just begun. */
  readonly round: number;
  /** True where this is longer than wanted, because the rate that is allowed has no room for more. */
  readonly isBoundByRate: boolean;
}

/** How long the chain takes until no row of a second can still appear, because all shards have been named beyond it. Seconds. */
export interface Naming {
  readonly usual: number;
  readonly most: number;
}

/** Of the seconds that the last polls saw named, each poll by the newest block and the watermark; null before there are two. */
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

/** When a poll sees what the chain has named. */
export interface PollLag {
  /** Seconds at most, where blocks come as often as usual. */
  readonly seconds: number;
  readonly isBoundByRate: boolean;
}

export function pollLagOf({ freshness, rps }: TailPlan): PollLag {
  const seconds = seenWithinSeconds({ freshness, rps });
  return { seconds, isBoundByRate: seconds > seenWithinSeconds({ freshness, rps: Infinity }) };
}

/** Of the datasets that the daemon follows. */
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

/** Seconds that the newest block may be old. */
export function longestHeadAgeOf({ maxLagSeconds = 0 }: LagLimits): number {
  return Math.max(STILL_HEAD_SECONDS, maxLagSeconds);
}
