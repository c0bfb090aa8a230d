import type { Range } from '../range.ts';

/** A lease should be about so many pages long: few short pages at its end, and enough leases to share. */
const PAGES_PER_LEASE = 48;
/** Weight of a new page in the running mean. */
const WEIGHT = 0.2;
/** Longer than any range: until a page has come, nobody knows how much time one holds. */
const UNKNOWN = Number.MAX_SAFE_INTEGER;

/** How many seconds of a dataset one lease should hold, learned from the pages that came. */
export interface Density {
  /** Seconds for the next lease; larger than any range while nothing is known. */
  leaseSeconds(): number;
  /** `rows` rows completed `span` seconds. */
  learn(rows: number, span: Range): void;
}

export function createDensity(pageSize: number): Density {
  let secondsPerRow: number | undefined;
  return {
    leaseSeconds: () =>
      secondsPerRow === undefined
        ? UNKNOWN
        : Math.max(1, Math.ceil(secondsPerRow * pageSize * PAGES_PER_LEASE)),
    learn(rows, { from, to }) {
      const seen = (to - from) / Math.max(1, rows);
      secondsPerRow = secondsPerRow === undefined ? seen : secondsPerRow * (1 - WEIGHT) + seen * WEIGHT;
    },
  };
}
