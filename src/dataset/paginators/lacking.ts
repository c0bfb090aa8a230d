import * as z from 'zod';

/** What the server does not serve of a list or of blocks that are asked for one by one: an offset, or a seqno. */
export const Lacking = z.object({
  at: z.number(),
  /** How often it was asked for. */
  tries: z.number(),
  /** Unix seconds before which it is not asked for again. */
  until: z.number(),
});

export type Lacking = z.infer<typeof Lacking>;

const FIRST_PAUSE = 60;
const LONGEST_PAUSE = 24 * 60 * 60;

/** Notes one more attempt in vain: the next one follows after a minute, then twice as late each time, at most a day. */
export function withLacking(known: readonly Lacking[], at: number, now: number): Lacking[] {
  const tries = (known.find((one) => one.at === at)?.tries ?? 0) + 1;
  const pause = Math.min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** Math.min(tries - 1, 20));
  const others = known.filter((one) => one.at !== at);
  return [...others, { at, tries, until: now + pause }].sort((one, other) => one.at - other.at);
}
