import type { Budget } from '../../src/budget/request-budget.ts';

/** No rate is measured. */
export const unlimited: Budget = {
  take: () => Promise.resolve(),
  refused: () => undefined,
  succeeded: () => undefined,
};
