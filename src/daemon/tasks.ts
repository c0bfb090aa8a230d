import { createInterruptibleSleep } from '../budget/interruptible-sleep.ts';
import type { Clock } from '../clock.ts';
import { toError } from '../errors.ts';

/** Whoever sleeps is woken when there is something to do; a timer can hold no more than some weeks. */
const LONGEST_SLEEP_MS = 60_000;

/** What a loop has under way, by name, and its sleep meanwhile. */
export interface Tasks {
  has(name: string): boolean;
  start(name: string, task: () => Promise<void>): void;
  /** True where one has failed. */
  readonly hasFailed: boolean;
  /** Until a moment of the monotonic clock, in milliseconds; ends when a task does, or when the signal is aborted. */
  sleepUntil(at: number): Promise<void>;
  /** Resolves when all have ended; rejects with what the first one threw that failed. */
  end(): Promise<void>;
}

export function createTasks(clock: Clock, signal: AbortSignal): Tasks {
  const pause = createInterruptibleSleep(clock);
  const running = new Map<string, Promise<void>>();
  const failures: Error[] = [];
  signal.addEventListener('abort', () => pause.end(), { once: true });
  return {
    has: (name) => running.has(name),
    start: (name, task) => {
      const ending = task()
        .catch((error: unknown) => {
          failures.push(toError(error));
        })
        .finally(() => {
          running.delete(name);
          pause.end();
        });
      running.set(name, ending);
    },
    get hasFailed() {
      return failures.length > 0;
    },
    sleepUntil: (at) => pause.sleep(Math.min(LONGEST_SLEEP_MS, Math.max(0, at - clock.monotonic()))),
    end: async () => {
      await Promise.all(running.values());
      const [failure] = failures;
      if (failure !== undefined) throw failure;
    },
  };
}
