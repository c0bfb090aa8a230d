import { toError } from '../errors.ts';
import type { Clock } from '../clock.ts';
import { rankOf, type Priority } from './priority.ts';

/** A request with its turn. */
interface Turn {
  readonly priority: Priority;
  /** True if its priority was passed over so often that it goes before more urgent ones, once. */
  readonly isOverdue: boolean;
}

/**
 * The requests of this process that wait for a slot: the more urgent first, then in order of arrival. No priority
 * starves. If a priority got nothing for as long as `PASSED_OVER` slots take, it goes first with one request.
 */
export interface Waiters {
  readonly size: number;
  /**
   * Resolves when granted. Rejects with the signal's reason as soon as it is aborted, and with the error
   * given to `fail`.
   */
  join(priority: Priority, signal: AbortSignal): Promise<void>;
  /** All waiting requests, the next one first. */
  inOrder(): Turn[];
  /** Grants the first request and returns its priority; undefined if none waits. */
  grant(): Priority | undefined;
  /** Rejects all waiting requests. */
  fail(error: unknown): void;
}

interface Waiter {
  readonly priority: Priority;
  settle(error?: unknown): void;
}

/** Each waiting priority gets at least one slot in this many. */
export const PASSED_OVER = 10;

interface WaitersOptions {
  /** Called after a request has joined, and after one was aborted. */
  readonly changed: () => void;
  readonly clock: Pick<Clock, 'monotonic'>;
  /** Milliseconds from one slot to the next. */
  readonly spacingMs: () => number;
}

export function createWaiters({ changed, clock, spacingMs }: WaitersOptions): Waiters {
  const waiting = new Set<Waiter>();
  /** Since when each priority has been waiting without a slot. */
  const since = new Map<Priority, number>();
  const countOf = (priority: Priority) => [...waiting].filter((one) => one.priority === priority).length;
  const inOrder = () => {
    const limit = clock.monotonic() - PASSED_OVER * spacingMs();
    const ranked = [...waiting].sort((a, b) => rankOf(a.priority) - rankOf(b.priority));
    const overdue = [...since]
      .filter(([, time]) => time <= limit)
      .sort(([, a], [, b]) => a - b)
      .flatMap(([priority]) => ranked.find((one) => one.priority === priority) ?? []);
    return [...overdue, ...ranked.filter((one) => !overdue.includes(one))].map((waiter) => ({
      waiter,
      priority: waiter.priority,
      isOverdue: overdue.includes(waiter),
    }));
  };
  return {
    get size() {
      return waiting.size;
    },
    inOrder,
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
        if (countOf(priority) === 0) since.set(priority, clock.monotonic());
        waiting.add(waiter);
        changed();
      });
      signal.throwIfAborted();
    },
    grant: () => {
      const [first] = inOrder();
      if (first === undefined) return undefined;
      since.set(first.priority, clock.monotonic());
      first.waiter.settle();
      return first.priority;
    },
    fail: (error) => {
      for (const waiter of [...waiting]) waiter.settle(error);
    },
  };
}
