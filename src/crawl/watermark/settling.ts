/** Chain seconds after which every replica of a source shows what the first of them showed. */
const REPLICA_LAG = 30;
/** Chain seconds that a watermark may gain on the newest block without having been held up. */
const JUMP = 10;

/** One look at a chain. Unix seconds of chain time. */
export interface Sight {
  /** The newest block that is visible, whatever is missing below it. */
  readonly newest: number;
  /** The watermark. */
  readonly utime: number;
}

/**
 * Holds back a watermark that jumped. While a late block is missing the watermark stands below it; when it appears the
 * watermark passes it at once, and all who read `delay` seconds below the watermark pass it too, while replicas that lag
 * still lack it, however old it is. So after a jump only `REPLICA_LAG` more is told than was known that long ago.
 * `before`: what another process saw last; used while it is fresh.
 * @returns the watermark to be told, for each look
 */
export function createSettling(before?: Sight): (now: Sight) => number {
  const sights: Sight[] = [];
  let told = 0;
  return (now) => {
    const isFirst = sights.length === 0;
    if (isFirst && before !== undefined && now.newest - before.newest <= REPLICA_LAG) sights.push(before);
    sights.push(now);
    while (sights[1] !== undefined && sights[1].newest <= now.newest - REPLICA_LAG) sights.shift();
    const then = sights[0] ?? now;
    const gained = now.utime - then.utime - (now.newest - then.newest);
    const settled = gained <= JUMP ? now.utime : Math.min(now.utime, then.utime + REPLICA_LAG);
    told = Math.max(told, settled);
    return told;
  };
}
