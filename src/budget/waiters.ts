import type { Clock } from '../clock.ts';
import { toError } from '../errors.ts';
import { rankOf, type Priority } from './priority.ts';

/** Somebody who waits for a slot. */
export interface Waiter {
  readonly rank: number;
  /** When it began to wait, on the monotonic clock. */
  readonly since: number;
}

/** Those who wait for the budget in this process: the more urgent first, then in order of arrival. */
export interface Waiters {
  readonly size: number;
  /** Resolves when granted; rejects with the signal's reason as soon as it is aborted, and with what `fail` is given. */
  join(priority: Priority, signal: AbortSignal): Promise<void>;
  /** All that wait, the next first. */
  inOrder(): Waiter[];
  /** Lets the first one go and returns it; undefined where nobody waits. */
  grant(): Waiter | undefined;
  /** Rejects everybody who waits. */
  fail(error: unknown): void;
}

interface WaitersOptions {
  readonly clock: Clock;
  /** Somebody has begun to wait. */
  readonly joined: () => void;
  /** Somebody was aborted. */
  readonly left: () => void;
}

interface Waiting extends Waiter {
  settle(error?: unknown): void;
}

export function createWaiters({ clock, joined, left }: WaitersOptions): Waiters {
  const waiting = new Set<Waiting>();
  const inOrder = () => [...waiting].sort((a, b) => a.rank - b.rank);
  return {
    get size() {
      return waiting.size;
    },
    inOrder,
    join: async (priority, signal) => {
      signal.throwIfAborted();
      await new Promise<void>((resolve, reject) => {
        const leave = () => {
          if (waiting.delete(waiter)) left();
          resolve();
        };
        const settle = (error?: unknown) => {
          waiting.delete(waiter);
          signal.removeEventListener('abort', leave);
          if (error === undefined) resolve();
          else reject(toError(error));
        };
        const waiter: Waiting = { rank: rankOf(priority), since: clock.monotonic(), settle };
        signal.addEventListener('abort', leave, { once: true });
        waiting.add(waiter);
        joined();
      });
      signal.throwIfAborted();
    },
    grant: () => {
      const [first] = inOrder();
      first?.settle();
      return first;
    },
    fail: (error) => {
      for (const waiter of [...waiting]) waiter.settle(error);
    },
  };
}
