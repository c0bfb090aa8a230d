import type { Budget } from '../budget.ts';
import type { Clock } from '../clock.ts';
import { rankOf, type Priority } from '../priority.ts';
import { createPace } from './pace.ts';

interface LocalBudgetOptions {
  /** Requests a second that the plan allows. */
  readonly rps: number;
  readonly clock: Clock;
}

interface Waiter {
  readonly rank: number;
  readonly since: number;
  grant(): void;
}

/**
 * The budget of a process that is alone with its key: the pace of `pace.ts`, and whoever waits served by priority, then
 * in order of arrival. It knows nothing of other processes, and nothing of the second before it was made.
 */
export function createLocalBudget({ rps, clock }: LocalBudgetOptions): Budget {
  const pace = createPace({ rps });
  const waiters = new Set<Waiter>();
  let pumping = false;
  let sleeping = new AbortController();

  const sleep = async (ms: number) => {
    sleeping = new AbortController();
    const { signal } = sleeping;
    // Whole milliseconds, rounded up: a timer that fires early would be one too many in its window.
    await clock.sleep(Math.ceil(ms), signal).catch((error: unknown) => {
      if (!signal.aborted) throw error;
    });
  };
  /** Grants slots one by one, in time, as long as somebody waits. */
  const pump = async () => {
    if (pumping) return;
    pumping = true;
    for (let waiter = first(waiters); waiter !== undefined; waiter = first(waiters)) {
      const now = clock.monotonic();
      const wait = pace.next() - now;
      if (wait > 0) {
        await sleep(wait);
        continue;
      }
      waiters.delete(waiter);
      pace.sent(now, waiter.since);
      waiter.grant();
    }
    pumping = false;
  };
  return {
    take: async (priority, signal) => {
      signal.throwIfAborted();
      await new Promise<void>((resolve) => {
        const leave = () => {
          waiters.delete(waiter);
          if (waiters.size === 0) sleeping.abort();
          resolve();
        };
        const waiter = newWaiter(priority, clock, () => {
          signal.removeEventListener('abort', leave);
          resolve();
        });
        signal.addEventListener('abort', leave, { once: true });
        waiters.add(waiter);
        void pump();
      });
      signal.throwIfAborted();
    },
    refused: (retryAfterMs) => {
      pace.refused(clock.monotonic(), retryAfterMs);
    },
    succeeded: (elapsedMs) => {
      pace.answered(clock.monotonic(), elapsedMs);
      // The next may go earlier than was known when the sleep began.
      sleeping.abort();
    },
  };
}

function newWaiter(priority: Priority, clock: Clock, grant: () => void): Waiter {
  return { rank: rankOf(priority), since: clock.monotonic(), grant };
}

function first(waiters: ReadonlySet<Waiter>): Waiter | undefined {
  let best: Waiter | undefined;
  for (const waiter of waiters) {
    if (best === undefined || waiter.rank < best.rank) best = waiter;
  }
  return best;
}
