import type { Range } from '../range.ts';

/** The weight of earlier pages after each new page. */
const MEMORY = 0.8;

/** How many seconds of a dataset a page holds, learned from the pages so far. */
export interface Density {
  /** Undefined until a page has come. */
  pageSeconds(): number | undefined;
  /** `rows` rows completed `span` seconds. */
  learn(rows: number, span: Range): void;
}

/**
 * Keeps sums, not a mean of ratios: one empty page would outweigh fifty full ones, and one reader would do
 * all the work.
 */
export function createDensity(pageSize: number): Density {
  const seen = { rows: 0, seconds: 0 };
  return {
    pageSeconds: () => (seen.seconds === 0 ? undefined : (seen.seconds / Math.max(1, seen.rows)) * pageSize),
    learn(rows, { from, to }) {
      seen.rows = seen.rows * MEMORY + rows;
      seen.seconds = seen.seconds * MEMORY + (to - from);
    },
  };
}
