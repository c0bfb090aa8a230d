/** Chain seconds that a watermark may gain on the newest block without having been held up. */
const JUMP_SECONDS = 10;

/** The chain as one poll shows it. Unix seconds of chain time. */
export interface PollResult {
  /** The newest block that is visible, whatever is missing below it. */
  readonly newest: number;
  /** The watermark. */
  readonly utime: number;
}

/**
 * Holds back a watermark that jumped. While a late block is missing the watermark stands below it. When the block
 * appears the watermark passes it at once, and so do all who read `delaySeconds` below the watermark; but a replica that
 * lags still lacks the block, however old it is. So after a jump the watermark is at most `delaySeconds` above the one
 * of that long ago. Example with 30 s: the newest block moves from 1000 to 1050 while the watermark stands at 990; at
 * 1060 the block has come and the watermark is 1050. Until 1090 it is given as 1020.
 * @param before what another process saw last; used while it is fresh
 * @returns the watermark to use, for each poll
 */
export function createSettling(delaySeconds: number, before?: PollResult): (now: PollResult) => number {
  const polls: PollResult[] = [];
  let highest = 0;
  return (now) => {
    const isFirst = polls.length === 0;
    if (isFirst && before !== undefined && now.newest - before.newest <= delaySeconds) polls.push(before);
    polls.push(now);
    while (polls[1] !== undefined && polls[1].newest <= now.newest - delaySeconds) polls.shift();
    const then = polls[0] ?? now;
    const gained = now.utime - then.utime - (now.newest - then.newest);
    const settled = gained <= JUMP_SECONDS ? now.utime : Math.min(now.utime, then.utime + delaySeconds);
    highest = Math.max(highest, settled);
    return highest;
  };
}
