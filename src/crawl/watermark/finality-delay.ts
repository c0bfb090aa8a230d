/** The chain as one poll shows it. Unix seconds of chain time. */
export interface PollResult {
  /** The newest block. For the last poll, a block that follows from the head; for earlier polls, any visible block. */
  readonly newest: number;
  /** The watermark. */
  readonly utime: number;
}

/**
 * The first poll of a chain begins this many seconds before the newest visible block. Earlier blocks have
 * been visible for long.
 */
export const LOOK_BACK = 300;

interface Poll extends PollResult {
  /** Seconds of this process's clock; undefined for a poll of another process. */
  readonly at: number | undefined;
}

/** The result of a poll. A block that is not connected to the head may be ahead of it, or may not exist. */
interface ShownBlocks extends PollResult {
  /** The newest visible block of all; omitted if it is `newest`. */
  readonly seen?: number;
}

/** How far it is safe to read. Unix seconds; neither ever falls. */
export interface SafeWatermark {
  /** The watermark to use. */
  readonly utime: number;
  /** Below this, every replica shows everything that there is and will be. At least the delay below the watermark. */
  readonly everywhere: number;
}

/**
 * Holds back new rows until they have been visible for `delaySeconds`. A late block appears below what was read before.
 * The watermark passes it at once, but a lagging replica still lacks it. So the last poll counts with which every
 * replica has caught up. That is a poll since which the newest block has gained the delay, or since which the delay has
 * passed by this clock. The first rule helps after a start, the second one if the head does not move.
 *
 * Everything below the watermark of that poll is shown by every replica now, wherever the watermark is today. That is
 * `everywhere`. The watermark is at most `delaySeconds` above it, for readers that stay this far below.
 *
 * A block may be visible that does not follow from the head. For the last poll it means nothing: a single answer with a
 * block of the year 2100 would release everything. An earlier poll is dated by it, because what that poll found may
 * have come as late as that block. Blocks that were shown longer than the delay ago have been shown by every replica
 * since, so they date no poll any more.
 *
 * The reason why the watermark rose much since that poll does not matter: a late block, or a pause without polls. So
 * the very first poll of a database counts as one after a pause, as if an earlier one had seen the second at which it
 * begins.
 * @param before the last polls of other processes
 */
export function createFinalityDelay(delaySeconds: number, before: readonly PollResult[] = []) {
  let polls: Poll[] = before.map((poll) => ({ ...poll, at: undefined }));
  let latest: PollResult = { newest: 0, utime: 0 };
  let safe: SafeWatermark = { utime: 0, everywhere: 0 };
  let shown: { readonly at: number; readonly newest: number }[] = [];
  /** The watermark after more time has passed since the last poll. */
  const release = (at: number) => {
    const isCaughtUp = (poll: Poll) =>
      poll.newest <= latest.newest - delaySeconds || (poll.at ?? Infinity) <= at - delaySeconds;
    const last = polls.findLastIndex(isCaughtUp);
    polls = polls.slice(Math.max(0, last));
    const then = polls[0] ?? latest;
    const utime = Math.max(safe.utime, Math.min(latest.utime, then.utime + delaySeconds));
    // Possibly no replica has caught up with the oldest known poll yet. A poll of another process may have
    // seen more than this one: then one of them saw too little.
    const passed = last === -1 ? 0 : Math.min(then.utime, latest.utime);
    const everywhere = Math.max(safe.everywhere, utime - delaySeconds, passed);
    safe = { utime, everywhere };
    return safe;
  };
  return {
    /** Adds a poll. `at`: seconds of a monotonic clock. */
    addPoll({ newest, utime, seen = newest }: ShownBlocks, at: number): SafeWatermark {
      const now = { newest, utime };
      latest = now;
      shown = [...shown.filter((one) => one.at > at - delaySeconds), { at, newest: Math.max(newest, seen) }];
      const last = polls.at(-1);
      if (last === undefined) polls.push(beforeTheFirst(now));
      // A poll that saw no more than the one before it adds nothing: replicas catch up with that one sooner.
      if (last?.utime !== now.utime || last.at === undefined) {
        polls.push({ newest: Math.max(...shown.map((one) => one.newest)), utime, at });
      }
      return release(at);
    },
    release,
    /**
     * When the watermark rises without another poll, by the same clock; undefined if nothing is held back, or
     * if the time is unknown.
     */
    dueAt: () => {
      const at = polls.find((poll) => poll.utime > safe.everywhere && poll.at !== undefined)?.at;
      return at === undefined ? undefined : at + delaySeconds;
    },
    /** The polls that decide about later ones, oldest first, for the next process that polls. */
    polls: (): readonly PollResult[] => polls.map(({ newest, utime }) => ({ newest, utime })),
  };
}

function beforeTheFirst({ newest, utime }: PollResult): Poll {
  const seen = newest - LOOK_BACK;
  return { newest: seen, utime: Math.min(seen, utime), at: undefined };
}
