import type { Clock } from '../clock.ts';

/** A sleep that can be ended early when there is something to do. */
export interface InterruptibleSleep {
  /** Resolves after `ms`, or as soon as it is ended. */
  sleep(ms: number): Promise<void>;
  /** Ends the current sleep, if there is one. */
  end(): void;
}

export function createInterruptibleSleep(clock: Clock): InterruptibleSleep {
  let current = new AbortController();
  return {
    sleep: async (ms) => {
      current = new AbortController();
      const { signal } = current;
      // Rounded up to whole milliseconds: a timer that fires early would be one request too many in its window.
      await clock.sleep(Math.ceil(ms), signal).catch((error: unknown) => {
        if (!signal.aborted) throw error;
      });
    },
    end: () => {
      current.abort();
    },
  };
}
