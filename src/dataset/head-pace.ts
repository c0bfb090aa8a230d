import type { TailPlan } from './tail-plan.ts';

/** A masterchain block comes about so often, also while nothing happens, in seconds. */
export const BLOCK_SECONDS = 2.5;

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
export interface HeadSeen {
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
