/** The chain as one poll shows it. Unix seconds of chain time. */
export interface PollResult {
  /** The newest block: of the last poll one that follows from the head, of those before it any that was visible. */
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

/** What a poll shows: a block that nothing joins to the head may be ahead of it, or not be at all. */
interface Shown extends PollResult {
  /** The newest block of all; left out where it is `newest`. */
  readonly seen?: number;
}

/** How far it is safe to read. Unix seconds; neither ever falls. */
export interface Settled {
  /** The watermark to use. */
  readonly utime: number;
  /** Below it every replica shows everything that there is and will be. At least the delay below the watermark. */
  readonly everywhere: number;
}

export interface Settling {
  /** What a poll lets pass. `at`: seconds of a clock that never runs backwards. */
  settle(now: Shown, at: number): Settled;
  /** What time has let pass since the last poll. */
  release(at: number): Settled;
  /** When more of it passes without another poll, by the same clock; undefined where nothing is held back, or nobody knows. */
  dueAt(): number | undefined;
  /** What decides about the polls to come, oldest first; for the process that polls after this one. */
  polls(): readonly PollResult[];
}

/**
 * Holds back what is new until it has been visible for `delaySeconds`. A late block appears below what was read before:
 * the watermark passes it at once, and a replica that lags still lacks it. So what counts is the last poll which every
 * replica has caught up with: one since which the newest block has gained the delay, or since which the delay has passed
 * by our clock. The first is of use after a start, the second where the head stands still.
 *
 * What lay below the watermark at that poll was there, and every replica shows it by now, wherever the watermark stands
 * today: that is `everywhere`. The watermark itself is at most `delaySeconds` above it, for those who read so far below.
 *
 * A block may be visible that does not follow from the head. Of the last poll it tells nothing: a single answer with a block
 * of the year 2100 would let everything pass. A poll before is dated by it: what was found then may have come as late as that.
 * What was shown longer than the delay ago, every replica has shown since, so it dates no poll any more.
 *
 * It does not matter why the watermark gained much since that poll: a late block came, or nobody polled for a while. So
 * the very first poll of a database is one after a silence: as if the one before it had seen where it begins to look.
 * @param before what other processes saw last
 */
export function createSettling(delaySeconds: number, before: readonly PollResult[] = []): Settling {
  let polls: Poll[] = before.map((poll) => ({ ...poll, at: undefined }));
  let latest: PollResult = { newest: 0, utime: 0 };
  let settled: Settled = { utime: 0, everywhere: 0 };
  let shown: { readonly at: number; readonly newest: number }[] = [];
  const release = (at: number) => {
    const isCaughtUp = (poll: Poll) =>
      poll.newest <= latest.newest - delaySeconds || (poll.at ?? Infinity) <= at - delaySeconds;
    const last = polls.findLastIndex(isCaughtUp);
    polls = polls.slice(Math.max(0, last));
    const then = polls[0] ?? latest;
    const utime = Math.max(settled.utime, Math.min(latest.utime, then.utime + delaySeconds));
    // With the oldest poll that is known maybe nobody has caught up yet. One of another process may have seen more than
    // is seen now: then one of them was shown too little.
    const passed = last === -1 ? 0 : Math.min(then.utime, latest.utime);
    const everywhere = Math.max(settled.everywhere, utime - delaySeconds, passed);
    settled = { utime, everywhere };
    return settled;
  };
  return {
    settle({ newest, utime, seen = newest }, at) {
      const now = { newest, utime };
      latest = now;
      shown = [...shown.filter((one) => one.at > at - delaySeconds), { at, newest: Math.max(newest, seen) }];
      const last = polls.at(-1);
      if (last === undefined) polls.push(beforeTheFirst(now));
      // One that saw no more than the one before it says nothing new: replicas catch up with that one sooner.
      if (last?.utime !== now.utime || last.at === undefined) {
        polls.push({ newest: Math.max(...shown.map((one) => one.newest)), utime, at });
      }
      return release(at);
    },
    release,
    dueAt: () => {
      const at = polls.find((poll) => poll.utime > settled.everywhere && poll.at !== undefined)?.at;
      return at === undefined ? undefined : at + delaySeconds;
    },
    polls: () => polls.map(({ newest, utime }) => ({ newest, utime })),
  };
}

function beforeTheFirst({ newest, utime }: PollResult): Poll {
  const seen = newest - LOOK_BACK;
  return { newest: seen, utime: Math.min(seen, utime), at: undefined };
}
