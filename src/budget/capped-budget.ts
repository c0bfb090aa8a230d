import type { Budget } from './request-budget.ts';
import { IncompleteError } from '../errors.ts';

/** A budget that ends after `most` requests: the next request gets an IncompleteError. */
export function createCappedBudget(budget: Budget, most: number): Budget {
  let left = most;
  return {
    async take(priority, signal) {
      if (left <= 0) {
        throw new IncompleteError(`all ${most} requests of --max-requests are spent`, {
          hint: 'What was read is kept. The same command continues from there.',
        });
      }
      left -= 1;
      await budget.take(priority, signal);
    },
    pausedUntil: () => budget.pausedUntil?.(),
    refused: (retryAfterMs, elapsedMs) => budget.refused(retryAfterMs, elapsedMs),
    succeeded: (elapsedMs) => budget.succeeded(elapsedMs),
  };
}
