import type { Budget } from '../budget/budget.ts';
import type { Clock } from '../clock.ts';
import { createNap } from '../budget/interruptible-sleep.ts';
import { createWaiters } from '../budget/waiters.ts';
import { createPace } from './pace.ts';

interface LocalBudgetOptions {
  /** Requests a second that the plan allows. */
  readonly rps: number;
  readonly clock: Clock;
}

/**
 * The budget of a process that is alone with its key: the pace of `pace.ts`, and whoever waits served by priority, then
 * in order of arrival. It knows nothing of other processes, and nothing of the second before it was made.
 */
export function createLocalBudget({ rps, clock }: LocalBudgetOptions): Budget {
  const pace = createPace({ rps });
  const nap = createNap(clock);
  let pumping = false;
  const waiters = createWaiters({
    clock,
    joined: () => void pump(),
    left: () => {
      if (waiters.size === 0) nap.end();
    },
  });

  /** Grants slots one by one, in time, as long as somebody waits. */
  const pump = async () => {
    if (pumping) return;
    pumping = true;
    while (waiters.size > 0) {
      const now = clock.monotonic();
      const wait = pace.next() - now;
      if (wait > 0) {
        await nap.take(wait);
        continue;
      }
      const waiter = waiters.grant();
      if (waiter !== undefined) pace.sent(now, waiter.since);
    }
    pumping = false;
  };
  return {
    take: (priority, signal) => waiters.join(priority, signal),
    refused: (retryAfterMs) => {
      pace.refused(clock.monotonic(), retryAfterMs);
    },
    succeeded: (elapsedMs) => {
      pace.answered(clock.monotonic(), elapsedMs);
      // The next may go earlier than was known when the sleep began.
      nap.end();
    },
  };
}
