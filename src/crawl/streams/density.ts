import type { Range } from '../../range.ts';

/** A lease should be about so many pages long: few short pages at its end, and enough leases to share. */
export const PAGES_PER_LEASE = 48;
/** How much of what was learned before a page still counts after it. */
const MEMORY = 0.8;
/** Longer than any range: until a page has come, nobody knows how much time one holds. */
const UNKNOWN = Number.MAX_SAFE_INTEGER;

/** How many seconds of a dataset one lease should hold, learned from the pages that came. */
export interface Density {
  /** Seconds for the next lease; larger than any range while nothing is known. */
  leaseSeconds(): number;
  /** `rows` rows completed `span` seconds. */
  learn(rows: number, span: Range): void;
}

/** Sums, not a mean of ratios: one empty page would outweigh fifty full ones, and one loop would do all the work. */
export function createDensity(pageSize: number): Density {
  const seen = { rows: 0, seconds: 0 };
  return {
    leaseSeconds: () =>
      seen.seconds === 0
        ? UNKNOWN
        : Math.max(1, Math.ceil((seen.seconds / Math.max(1, seen.rows)) * pageSize * PAGES_PER_LEASE)),
    learn(rows, { from, to }) {
      seen.rows = seen.rows * MEMORY + rows;
      seen.seconds = seen.seconds * MEMORY + (to - from);
    },
  };
}
