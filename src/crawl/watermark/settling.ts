/** The chain as one poll shows it. Unix seconds of chain time. */
export interface PollResult {
  /** The newest block that is visible. */
  readonly newest: number;
  /** The watermark. */
  readonly utime: number;
}

/**
 * Seconds before the newest visible block at which the first poll of a chain begins: what lies before it has been
 * visible for long.
 */
export const LOOK_BACK = 300;

interface Poll extends PollResult {
  /** Seconds of our own clock; undefined of a poll of another process, whose clock is not ours. */
  readonly at: number | undefined;
}

export interface Settling {
  /** The watermark to use at a poll. `at`: seconds of a clock that never runs backwards. It never falls. */
  settle(now: PollResult, at: number): number;
  /** When another poll lets more of it pass, by the same clock; undefined where nothing is held back, or nobody knows. */
  dueAt(): number | undefined;
  /** What decides about the polls to come, oldest first; for the process that polls after this one. */
  polls(): readonly PollResult[];
}

/**
 * Holds back what is new until it has been visible for `delaySeconds`. All read `delaySeconds` below the watermark. That
 * suffices for a replica that lags so far as long as blocks appear in time. A late block appears below: the watermark
 * passes it at once, and a replica that lags still lacks it. So the watermark is at most `delaySeconds` above that of the
 * last poll which every replica has caught up with: one since which the newest block has gained the delay, or since
 * which the delay has passed by our clock. The first is of use after a start, the second where the head stands still.
 *
 * It does not matter why the watermark gained much since that poll: a late block came, or nobody polled for a while. So
 * the very first poll of a database is one after a silence: as if the one before it had seen where it begins to look.
 * @param before what other processes saw last
 */
export function createSettling(delaySeconds: number, before: readonly PollResult[] = []): Settling {
  let polls: Poll[] = before.map((poll) => ({ ...poll, at: undefined }));
  let highest = 0;
  return {
    settle(now, at) {
      const isCaughtUp = (poll: Poll) =>
        poll.newest <= now.newest - delaySeconds || (poll.at ?? Infinity) <= at - delaySeconds;
      if (polls.length === 0) polls.push(beforeTheFirst(now));
      polls.push({ ...now, at });
      polls = polls.slice(Math.max(0, polls.findLastIndex(isCaughtUp)));
      const then = polls[0] ?? now;
      highest = Math.max(highest, Math.min(now.utime, then.utime + delaySeconds));
      return highest;
    },
    dueAt: () => {
      const latest = polls.at(-1)?.utime ?? 0;
      const isNext = ({ utime }: Poll) => Math.min(latest, utime + delaySeconds) > highest;
      const at = polls.slice(1).find(isNext)?.at;
      return at === undefined ? undefined : at + delaySeconds;
    },
    polls: () => polls.map(({ newest, utime }) => ({ newest, utime })),
  };
}

function beforeTheFirst({ newest, utime }: PollResult): Poll {
  const seen = newest - LOOK_BACK;
  return { newest: seen, utime: Math.min(seen, utime), at: undefined };
}
