import type { Clock } from '../../src/clock.ts';

/** A clock that does not move until the test moves it. */
export interface ManualClock extends Clock {
  /** Advances, ends each sleep at its own time, and lets everything run that waits for it. */
  advance(ms: number): Promise<void>;
}

export function manualClock(): ManualClock {
  let now = 0;
  const sleepers = new Set<{ readonly until: number; wake: () => void }>();
  const settle = () => new Promise((resolve) => setImmediate(resolve));
  return {
    now: () => now,
    monotonic: () => now,
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        const abort = () => {
          sleepers.delete(sleeper);
          reject(new DOMException('aborted', 'AbortError'));
        };
        const sleeper = {
          until: now + ms,
          wake: () => {
            sleepers.delete(sleeper);
            signal?.removeEventListener('abort', abort);
            resolve();
          },
        };
        if (signal?.aborted === true) abort();
        else {
          signal?.addEventListener('abort', abort, { once: true });
          sleepers.add(sleeper);
        }
      }),
    advance: async (ms) => {
      const end = now + ms;
      await settle();
      for (;;) {
        const due = [...sleepers].filter(({ until }) => until <= end).sort((a, b) => a.until - b.until)[0];
        if (due === undefined) break;
        now = Math.max(now, due.until);
        due.wake();
        await settle();
      }
      now = end;
    },
  };
}
