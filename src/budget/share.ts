import type { Clock } from '../clock.ts';

/**
 * Lets so many requests a second through, one after the other: for work that must never take more than its share of the
 * budget, whoever else has nothing to do.
 */
export function createShare(perSecond: number, clock: Clock, signal: AbortSignal): () => Promise<void> {
  const pauseMs = 1000 / perSecond;
  let next = 0;
  return async () => {
    const now = clock.monotonic();
    const waitMs = next - now;
    next = Math.max(now, next) + pauseMs;
    if (waitMs > 0) await clock.sleep(waitMs, signal).catch(() => undefined);
  };
}
