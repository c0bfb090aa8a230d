import { describe, expect, test } from 'vitest';
import { createInFlight } from '../../../src/budget/request-budget.ts';
import { systemClock } from '../../../src/clock.ts';
import { machineSpeed } from '../../../src/crawl/plan/plan-datasets.ts';

const rateBoundAt = (rps: number) => createInFlight({ rps, clock: systemClock }).isRateBound;
const SIZES = new Map([
  ['traces', 10_000],
  ['blocks', 1000],
]);
/** Steps with the given number of rows of traces, each by the given number of requests. */
const steps = (...rows: readonly (readonly [rows: number, requests: number])[]) =>
  rows.map(([count, requests], at) => ({ at, dataset: 'traces', rows: count, requests, waitedMs: 20_000 }));

describe('the speed of a machine', () => {
  test('is a usual one if nothing was read', () => {
    expect(machineSpeed([], SIZES, rateBoundAt(100))).toEqual({ perSecond: 10_000_000, isSeen: false });
  });

  test('is that of its busiest moments, without the two that may be chance, and not that at rest', () => {
    const moments = steps([1, 5], [900_000, 50], [3000, 50], [800_000, 50], [2000, 50], [1, 5]);
    expect(machineSpeed(moments, SIZES, rateBoundAt(100))).toEqual({ perSecond: 3_000_000, isSeen: true });
  });

  test('is not what an idle daemon writes', () => {
    const moments = steps([3, 9], [3, 9], [3, 9]).map((moment) => ({ ...moment, waitedMs: 900 }));
    expect(machineSpeed(moments, SIZES, rateBoundAt(100)).isSeen).toBe(false);
  });

  test('is not what the rate of requests allowed', () => {
    const moments = steps([3000, 90], [3000, 90], [3000, 90]);
    expect(machineSpeed(moments, SIZES, rateBoundAt(10))).toEqual({ perSecond: 10_000_000, isSeen: false });
    expect(machineSpeed(moments, SIZES, rateBoundAt(100))).toEqual({ perSecond: 3_000_000, isSeen: true });
  });

  test('counts the datasets of a moment together, each by the size of its records', () => {
    const moments = [
      ...steps([1000, 5], [1000, 5], [1000, 5]),
      { at: 2, dataset: 'blocks', rows: 50_000, requests: 9, waitedMs: 0 },
    ];
    expect(machineSpeed([...moments], SIZES, rateBoundAt(100)).perSecond).toBe(1_000_000);
    const busy = [0, 1].map((at) => ({ at, dataset: 'blocks', rows: 50_000, requests: 9, waitedMs: 0 }));
    expect(machineSpeed([...moments, ...busy], SIZES, rateBoundAt(100)).perSecond).toBe(6_000_000);
  });
});
