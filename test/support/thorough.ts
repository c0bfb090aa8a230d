import { test } from 'vitest';

/**
 * True if a run tries every case that a test lists and as many random ones as its property is worth: `npm run
 * test:all`, as CI does. `npm test` tries a fixed sample of both.
 */
export const isThorough = process.env['TESTS'] === 'all';

/** All of the cases in a thorough run, else so many of them, evenly spread. */
export function some<T>(cases: readonly T[], count: number): readonly T[] {
  if (isThorough || count >= cases.length) return cases;
  return Array.from({ length: count }, (_, at) => cases[Math.floor((at * cases.length) / count)]!);
}

/** How often a property is tried: a fifth of the number of a thorough run. */
export const runs = (thorough: number): number => (isThorough ? thorough : Math.ceil(thorough / 5));

/** A test of a thorough run alone: a proof that takes seconds, of a rule for which another test has a short form. */
export const thorough = test.runIf(isThorough);
