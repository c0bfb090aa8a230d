import { describe, expect, test } from 'vitest';
import { estimate, partsOf, placeIn, type Sample } from '../../../src/crawl/plan/estimate.ts';
import type { Range } from '../../../src/range.ts';

const DAY = 86_400;
const START = Date.UTC(2026, 0, 1) / 1000;
const WHOLE = { low: 1, likely: 1, high: 1 };

type Load = (second: number) => number;

const isDead = (second: number) => second >= START + 31 * DAY && second < START + 59 * DAY;
/** Ten times as much at noon as at midnight, and a month in which nothing happens. */
const cycle: Load = (second) =>
  isDead(second) ? 0 : 0.05 * (1 - (9 / 11) * Math.cos((2 * Math.PI * (second % DAY)) / DAY));

/** Rows of a range in steps of ten seconds. */
function truth(load: Load, { from, to }: Range): number {
  let rows = 0;
  for (let second = from; second < to; second += 10) rows += 10 * load(second + 5);
  return rows;
}

/** What pages of 200 rows at the sampled positions would show. */
function lookInto(load: Load, range: Range, count: number): Sample[] {
  return partsOf(range, count).map((stratum, index) => {
    const from = placeIn(stratum, index);
    let [second, rows] = [from, 0];
    for (; second < stratum.to && rows < 200; second += 10) rows += 10 * load(second + 5);
    return {
      stratum,
      from,
      seconds: Math.min(second, stratum.to) - from,
      rows: Math.round(rows),
      cut: 0,
      bytes: 4000 * Math.round(rows),
    };
  });
}

/** Rows of each second: one to eight at a time, and up to six bursts of a hundred seconds' rows. */
function burstyRows(seed: number, clumpsPerSecond: number, seconds: number): number[] {
  let state = seed * 7919 + 1;
  const random = () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
  for (let warm = 0; warm < 10; warm += 1) random();
  const rows = Array.from({ length: seconds }, () => {
    const clumps = Math.floor(clumpsPerSecond) + (random() < clumpsPerSecond % 1 ? 1 : 0);
    return Array.from({ length: clumps }, () => 1 + Math.floor(8 * random())).reduce((a, b) => a + b, 0);
  });
  for (let burst = Math.floor(7 * random()); burst > 0; burst -= 1)
    rows[Math.floor(seconds * random())]! += Math.round(450 * clumpsPerSecond * random());
  return rows;
}

/** What 16 pages of 200 rows show: whole seconds, as many as fit. */
function lookBySecond(rows: readonly number[], range: Range): Sample[] {
  return partsOf(range, 16).map((stratum, index) => {
    const from = placeIn(stratum, index);
    let [second, seen] = [from, 0];
    while (second < stratum.to && seen + rows[second - range.from]! < 200) {
      seen += rows[second - range.from]!;
      second += 1;
    }
    const cut = second < stratum.to ? 200 - seen : 0;
    return { stratum, from, seconds: second - from, rows: seen, cut, bytes: 4000 * seen };
  });
}

const facts = (missing: readonly Range[]) => ({
  missing,
  pageSize: 1000,
  scopes: WHOLE,
  scopesDoubt: 0,
  requestsPerPage: WHOLE,
  share: WHOLE,
  diskFactor: WHOLE,
});

describe('an estimate', () => {
  test.each([3, 10, 45, 90, 200])(
    'of %d days with a daily cycle of 10:1 and a dead month is within a factor 1.3, and its bounds hold the truth',
    (days) => {
      for (const shift of [0, 0.3, 0.7]) {
        const range = { from: START + Math.floor(shift * DAY), to: START + Math.floor((days + shift) * DAY) };
        const { rows } = estimate(lookInto(cycle, range, 16), facts([range]));
        const real = truth(cycle, range);
        expect(rows.likely / real).toBeGreaterThan(1 / 1.3);
        expect(rows.likely / real).toBeLessThan(1.3);
        expect(rows.low).toBeLessThan(real);
        expect(rows.high).toBeGreaterThan(real);
      }
    },
  );

  test.each([0.02, 0.3, 5])(
    'of an hour with bursts and clumps at %d clumps a second contains the truth in nine of ten networks',
    (clumpsPerSecond) => {
      const range = { from: START, to: START + 3600 };
      const outcomes = Array.from({ length: 30 }, (_, seed) => {
        const rows = burstyRows(seed, clumpsPerSecond, 3600);
        const { rows: foreseen } = estimate(lookBySecond(rows, range), facts([range]));
        return { ...foreseen, real: rows.reduce((sum, each) => sum + each, 0) };
      });
      const held = outcomes.filter(({ low, high, real }) => low <= real && real <= high);
      expect(held.length).toBeGreaterThanOrEqual(27);
      for (const { low, high, real } of outcomes)
        if (real >= 100) expect(high / Math.max(1, low)).toBeLessThanOrEqual(8);
    },
  );

  test('counts only what is missing', () => {
    const range = { from: START, to: START + 10 * DAY };
    const half = { from: START, to: START + 5 * DAY };
    const samples = lookInto(() => 1, range, 16);
    expect(estimate(samples, facts([half])).rows.likely).toBeCloseTo(5 * DAY, -3);
    expect(estimate(samples, facts([])).requests).toEqual({ low: 0, likely: 0, high: 0 });
  });

  test('of an empty range does not claim that nothing is there', () => {
    const range = { from: START, to: START + DAY };
    const { rows } = estimate(
      lookInto(() => 0, range, 16),
      facts([range]),
    );
    expect(rows.likely).toBe(0);
    expect(rows.high).toBeGreaterThan(0);
  });

  test('samples every hour of the day, however long the range', () => {
    for (const days of [16, 40, 365]) {
      const range = { from: START, to: START + days * DAY };
      const hours = partsOf(range, 16).map((part, index) => (placeIn(part, index) % DAY) / 3600);
      const sorted = hours.toSorted((a, b) => a - b);
      const widest = Math.max(...sorted.map((hour, index) => (sorted[index + 1] ?? sorted[0]! + 24) - hour));
      expect(widest).toBeLessThan(3);
      for (const [index, part] of partsOf(range, 16).entries()) {
        expect(placeIn(part, index)).toBeGreaterThanOrEqual(part.from);
        expect(placeIn(part, index)).toBeLessThan(part.to);
      }
    }
  });
});
