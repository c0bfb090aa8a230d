import type { AnyJob, Dataset } from './dataset.ts';
import type { Walk } from './walk.ts';

/** What decides how often the tail asks. */
export interface TailPlan {
  /** Seconds that the newest rows may be behind what may be read. */
  readonly freshness: number;
  /** Requests a second that are allowed. */
  readonly rps: number;
}

/** A masterchain block comes about so often, also while nothing happens, in seconds. */
const BLOCK_SECONDS = 2.5;

/** Where blocks come quicker than this part of the freshness wanted, several are gathered: in a poll, and in a round. */
const GATHERED = 0.3;
/** Blocks are gathered for this part of it: a row may wait for a poll, for the next round, and for its requests. */
const GATHERING = 0.4;
/** Where each block has a round of its own, two rounds are at least this part of it apart. */
const APART = 0.2;

/** Requests of a poll that finds a new head: its blocks and the tops of its shards. One that finds none is a single request. */
const REQUESTS = 2;
/** Polls take at most this part of the budget. */
const SHARE = 0.15;
/** A block is not looked for before this part of the usual time has passed since the last one. */
const PART = 0.6;
/** From then on polls are this part of the freshness wanted apart. */
const LOOKING = 0.1;
/**
 * A head stands still where so many blocks have not come, for twice the freshness wanted: nobody knows when it goes on,
 * and it is polled once in that time. What is missing may be much to ask for again.
 */
const STILL_BLOCKS = 3;

/** What polls have seen of the head. */
interface HeadSeen {
  /** Seconds between two masterchain blocks; undefined where only one was seen. */
  readonly interval: number | undefined;
  /** Seconds since a poll found a new one: 0 where the last poll did. */
  readonly stillFor: number;
}

/** Seconds between two rounds of the tail at least, by how often blocks come; the most that it may be where nobody knows. */
export function roundSeconds(freshness: number, interval = 0): number {
  return freshness * (interval < GATHERED * freshness ? GATHERING : APART);
}

/** Seconds from one poll of the head to the next. */
export function pollSeconds(
  { interval = BLOCK_SECONDS, stillFor }: HeadSeen,
  { freshness, rps }: TailPlan,
): number {
  const perRequest = 1 / (rps * SHARE);
  if (stillFor === 0) {
    const expected = Math.min(freshness, interval * PART);
    return Math.max(roundSeconds(freshness, interval), expected, REQUESTS * perRequest);
  }
  const isStill = stillFor > Math.max(2 * freshness, STILL_BLOCKS * interval);
  return Math.max(freshness * (isStill ? 1 : LOOKING), perRequest);
}

/** Seconds that a new block may wait for a poll, where blocks come as often as usual, however quick that is. */
export function seenWithinSeconds(plan: TailPlan): number {
  return pollSeconds({ interval: 0, stillFor: 0 }, plan);
}

/** Seconds between two polls at most. */
export function longestPollSeconds(plan: TailPlan): number {
  return pollSeconds({ interval: Infinity, stillFor: 0 }, plan);
}

/** Requests a minute of the polls, for all datasets together. */
export function watermarkRequests(freshness: number): number {
  const plan = { freshness, rps: Infinity };
  const pause = pollSeconds({ interval: undefined, stillFor: 0 }, plan);
  const vain = Math.max(0, BLOCK_SECONDS - pause) / (LOOKING * freshness);
  return (60 / Math.max(BLOCK_SECONDS, pause)) * (REQUESTS + vain);
}

/** Heads over which the time between two blocks is averaged. */
const REMEMBERED = 30;

/** A masterchain block, by its number and the second that it is of. */
interface Head {
  readonly seqno: number;
  readonly utime: number;
}

/** Learns from polls how often blocks come, and says when the next poll is due. */
interface HeadWatch {
  /** Seconds between two blocks; undefined before two were seen. */
  readonly interval: () => number | undefined;
  /** Seconds from this poll, at `now`, to the next one. */
  pauseAfter(head: Head, now: number): number;
}

export function createHeadWatch(plan: TailPlan): HeadWatch {
  const heads: Head[] = [];
  let movedAt = 0;
  return {
    interval: () => intervalOf(heads),
    pauseAfter: (head, now) => {
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

function intervalOf(heads: readonly Head[]): HeadSeen['interval'] {
  const [first, last] = [heads[0], heads.at(-1)];
  if (first === undefined || last === undefined || first.seqno === last.seqno) return undefined;
  return (last.utime - first.utime) / (last.seqno - first.seqno);
}

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
