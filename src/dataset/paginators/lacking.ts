import * as z from 'zod';

/** An offset of a list, or a seqno, for which the server fails. */
export const Lacking = z.object({
  at: z.number(),
  /** Attempts so far. */
  tries: z.number(),
  /** Unix seconds before which it is not retried. */
  until: z.number(),
});

export type Lacking = z.infer<typeof Lacking>;

const FIRST_PAUSE = 60;
const LONGEST_PAUSE = 24 * 60 * 60;

/** Notes a failed attempt. The next one follows after a minute, then after twice as long each time, at most a day. */
export function withLacking(known: readonly Lacking[], at: number, now: number): Lacking[] {
  const tries = (known.find((one) => one.at === at)?.tries ?? 0) + 1;
  const pause = Math.min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** Math.min(tries - 1, 20));
  const others = known.filter((one) => one.at !== at);
  return [...others, { at, tries, until: now + pause }].sort((one, other) => one.at - other.at);
}
