import { toError } from '../errors.ts';
import { rankOf, type Priority } from './priority.ts';

/** The requests of this process that wait for a slot: the more urgent first, then in order of arrival. */
export interface Waiters {
  readonly size: number;
  /** Resolves when granted; rejects with the signal's reason as soon as it is aborted, and with what `fail` is given. */
  join(priority: Priority, signal: AbortSignal): Promise<void>;
  /** Priorities of all that wait, the next first. */
  inOrder(): Priority[];
  /** Lets the first one go and returns its priority; undefined where nobody waits. */
  grant(): Priority | undefined;
  /** Rejects everybody who waits. */
  fail(error: unknown): void;
}

interface Waiter {
  readonly priority: Priority;
  settle(error?: unknown): void;
}

/** `changed` is called after somebody has joined, and after somebody was aborted. */
export function createWaiters(changed: () => void): Waiters {
  const waiting = new Set<Waiter>();
  const inOrder = () => [...waiting].sort((a, b) => rankOf(a.priority) - rankOf(b.priority));
  return {
    get size() {
      return waiting.size;
    },
    inOrder: () => inOrder().map(({ priority }) => priority),
    join: async (priority, signal) => {
      signal.throwIfAborted();
      await new Promise<void>((resolve, reject) => {
        const leave = () => {
          waiting.delete(waiter);
          resolve();
          changed();
        };
        const settle = (error?: unknown) => {
          waiting.delete(waiter);
          signal.removeEventListener('abort', leave);
          if (error === undefined) resolve();
          else reject(toError(error));
        };
        const waiter: Waiter = { priority, settle };
        signal.addEventListener('abort', leave, { once: true });
        waiting.add(waiter);
        changed();
      });
      signal.throwIfAborted();
    },
    grant: () => {
      const [first] = inOrder();
      first?.settle();
      return first?.priority;
    },
    fail: (error) => {
      for (const waiter of [...waiting]) waiter.settle(error);
    },
  };
}
