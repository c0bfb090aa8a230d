import type { Budget } from '../../src/budget/request-budget.ts';

/** Neither the plan's rate nor anybody else's is measured. */
export const unlimited: Budget = {
  take: () => Promise.resolve(),
  refused: () => undefined,
  succeeded: () => undefined,
};
