import type { AnyJob, Dataset } from '../dataset/dataset.ts';
import type { Walk } from '../dataset/collection.ts';
import { offset } from '../dataset/paginators/offset.ts';

/** The settings that decide how often the tail sends requests: a part of `Config`. */
export interface TailPlan {
  /** Seconds that the newest rows may be behind what is safe to read. */
  readonly freshnessSeconds: number;
  /** Allowed requests a second. */
  readonly rps: number;
}

/** Usual seconds between two masterchain blocks, even if nothing happens. */
const BLOCK_SECONDS = 2.5;

/** If blocks come faster than this part of the freshness, several blocks share a poll and a round. */
const GATHERED = 0.3;
/**
 * The part of the freshness for which blocks are gathered. The rest is for a poll, the next round, and its requests.
 */
const GATHERING = 0.4;
/** If each block has a round of its own, rounds are at least this part of the freshness apart. */
const APART = 0.2;

/**
 * Requests of a poll that finds a new head: its blocks and the tops of its shards. A poll without a new head
 * is one request.
 */
const REQUESTS = 2;
/** The largest share of the budget for polls. */
const SHARE = 0.15;
/** The next block is not polled for before this part of the usual interval has passed since the last one. */
const PART = 0.6;
/** After that, polls are this part of the freshness apart. */
const LOOKING = 0.1;
/**
 * The head has stopped if this many blocks have not come and twice the freshness has passed. Then it is
 * polled once in the freshness, because each poll may ask for much again.
 */
const STILL_BLOCKS = 3;

/** What polls have seen of the head. */
interface HeadSeen {
  /** Seconds between two masterchain blocks; undefined if only one was seen. */
  readonly interval: number | undefined;
  /** Seconds since a poll found a new block: 0 if the last poll did. */
  readonly stillFor: number;
}

/**
 * Minimum number of seconds between two rounds of the tail, by the interval of blocks. If the interval is
 * unknown, the largest possible value.
 */
export function roundSeconds(freshnessSeconds: number, interval = 0): number {
  return freshnessSeconds * (interval < GATHERED * freshnessSeconds ? GATHERING : APART);
}

/** Seconds from one poll of the head to the next. */
export function pollSeconds(
  { interval = BLOCK_SECONDS, stillFor }: HeadSeen,
  { freshnessSeconds, rps }: TailPlan,
): number {
  const perRequest = 1 / (rps * SHARE);
  if (stillFor === 0) {
    const expected = Math.min(freshnessSeconds, interval * PART);
    return Math.max(roundSeconds(freshnessSeconds, interval), expected, REQUESTS * perRequest);
  }
  const isStill = stillFor > Math.max(2 * freshnessSeconds, STILL_BLOCKS * interval);
  return Math.max(freshnessSeconds * (isStill ? 1 : LOOKING), perRequest);
}

/** The longest seconds that a new block may wait for a poll, if blocks come at their usual interval. */
export function seenWithinSeconds(plan: TailPlan): number {
  return pollSeconds({ interval: 0, stillFor: 0 }, plan);
}

/** The longest seconds between two polls. */
export function longestPollSeconds(plan: TailPlan): number {
  return pollSeconds({ interval: Infinity, stillFor: 0 }, plan);
}

/** Requests a minute of the polls, for all datasets together. */
export function watermarkRequests(freshnessSeconds: number): number {
  const plan = { freshnessSeconds, rps: Infinity };
  const pause = pollSeconds({ interval: undefined, stillFor: 0 }, plan);
  const vain = Math.max(0, BLOCK_SECONDS - pause) / (LOOKING * freshnessSeconds);
  return (60 / Math.max(BLOCK_SECONDS, pause)) * (REQUESTS + vain);
}

/** Heads over which the interval of blocks is averaged. */
const REMEMBERED = 30;

/** A masterchain block: its number and its second. */
interface PolledHead {
  readonly seqno: number;
  readonly utime: number;
}

/** Learns the interval of blocks from polls, and computes the next poll. */
export function createHeadWatch(plan: TailPlan) {
  const heads: PolledHead[] = [];
  let movedAt = 0;
  return {
    /** Seconds between two blocks; undefined before two were seen. */
    interval: () => intervalOf(heads),
    /** Seconds from this poll, at `now`, to the next one. */
    pauseAfter: (head: PolledHead, now: number) => {
      const isNew = head.seqno > (heads.at(-1)?.seqno ?? -1);
      if (isNew) {
        heads.push(head);
        movedAt = now;
        if (heads.length > REMEMBERED) heads.shift();
      }
      return pollSeconds({ interval: intervalOf(heads), stillFor: now - movedAt }, plan);
    },
  };
}

function intervalOf(heads: readonly PolledHead[]): HeadSeen['interval'] {
  const [first, last] = [heads[0], heads.at(-1)];
  if (first === undefined || last === undefined || first.seqno === last.seqno) return undefined;
  return (last.utime - first.utime) / (last.seqno - first.seqno);
}

/** The largest share of the budget for the rounds of the tail, so that a backfill advances with any plan. */
const ROUNDS_SHARE = 0.3;
/** The largest share for datasets that are read less often than every round. */
const SLOW_SHARE = 0.1;
/** Matured rows are read again once they span this many seconds. */
export const SECOND_READING_SECONDS = 300;
/** Seconds between two searches for new subjects of look-ups. */
const LOOKUP_SECONDS = 60;

/** Seconds that a dataset stays behind the watermark: its own delay replaces `watermarkDelaySeconds`. */
export function delayOf({ job }: Dataset, watermarkDelaySeconds: number): number {
  return job.delaySeconds ?? watermarkDelaySeconds;
}

/** The longest seconds between two requests of the tail for a dataset, if the budget has room for them. */
export function wantedPauseSeconds({ everySeconds = 0 }: Dataset['job'], freshnessSeconds: number): number {
  return Math.max(roundSeconds(freshnessSeconds), everySeconds);
}

/**
 * Minimum number of seconds between two rounds of the tail. A round begins when there is something new to read. It is
 * well within the freshness, or longer if that would exceed its share of the budget. `interval`: seconds
 * between blocks, if known. If not, the result is the largest possible value.
 */
export function tailPeriodSeconds(
  datasets: readonly Dataset[],
  { freshnessSeconds, rps }: TailPlan,
  interval?: number,
): number {
  const often = datasets.filter(({ job }) => job.everySeconds === undefined);
  return Math.max(roundSeconds(freshnessSeconds, interval), often.length / (rps * ROUNDS_SHARE));
}

/**
 * Seconds that a dataset pauses beyond the rounds of the tail: its own `everySeconds`, or longer if its
 * streams cost too much. `streams`: the number of its streams.
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
  if (walk.kind === 'list') return offset.everySeconds;
  return walk.kind === 'sample' ? walk.everySeconds : LOOKUP_SECONDS;
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
 * Requests a minute that keep a dataset up to date while nothing happens; for each pool, if it is read pool
 * by pool. Look-ups and histories cost nothing then.
 */
export function restingRequests(job: AnyJob, freshnessSeconds: number): number {
  if (job.kind === 'collection')
    return job.walks.map((walk) => RESTING[walk.kind](walk)).reduce((sum, requests) => sum + requests, 0);
  // Nothing is new before there is a new block.
  const first = 60 / Math.max(BLOCK_SECONDS, wantedPauseSeconds(job, freshnessSeconds));
  return first + (job.maturitySeconds === undefined ? 0 : 60 / SECOND_READING_SECONDS);
}

export type PollLag = ReturnType<typeof pollLagOf>;

/** How soon a poll sees what the chain has named: maximum seconds, if blocks come as often as usual. */
export function pollLagOf({ freshnessSeconds, rps }: TailPlan) {
  const seconds = seenWithinSeconds({ freshnessSeconds, rps });
  return { seconds, isBoundByRate: seconds > seenWithinSeconds({ freshnessSeconds, rps: Infinity }) };
}
