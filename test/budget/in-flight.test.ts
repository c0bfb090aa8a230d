import { expect, test } from 'vitest';
import { createInFlight, MOST_IN_FLIGHT, type InFlight } from '../../src/budget/in-flight.ts';

interface Source {
  /** Milliseconds of an answer where the source has nothing else to do. */
  readonly latencyMs: number;
  /** Answers a second that it can give at most; left out: any number. */
  readonly capacity?: number;
  /** Every so many requests fail. */
  readonly failing?: number;
}

/**
 * Keeps as many requests under way as the target says, no faster than `rps`, for so many milliseconds of a source's time.
 * @returns answers a second, and the targets that there were
 */
function run(rps: number, source: Source, ms: number): { rate: number; targets: number[] } {
  let now = 0;
  const inFlight = createInFlight({ rps, clock: { monotonic: () => now } });
  const ends: { readonly at: number; readonly flight: ReturnType<InFlight['open']> }[] = [];
  const targets: number[] = [];
  let [free, slot, sent, answered] = [0, 0, 0, 0];
  for (; now < ms; now += 1) {
    while (ends[0] !== undefined && ends[0].at <= now) {
      const { flight } = ends.shift()!;
      sent += 1;
      if (sent % (source.failing ?? Infinity) === 0) flight.failed(true);
      else flight.end();
      answered += 1;
    }
    targets.push(inFlight.target);
    while (ends.length < inFlight.target && slot <= now) {
      slot = Math.max(slot, now) + 1000 / rps;
      const flight = inFlight.open('backfill');
      flight.sent();
      free = Math.max(free, now) + 1000 / (source.capacity ?? Infinity);
      ends.push({ at: Math.max(free, now + source.latencyMs), flight });
    }
  }
  return { rate: (answered * 1000) / ms, targets };
}

test.each([
  [10, 50],
  [10, 1000],
  [25, 300],
  [25, 1000],
  [25, 3000],
])('%i requests a second are used where an answer takes %i ms', (rps, latencyMs) => {
  const { rate, targets } = run(rps, { latencyMs }, 200_000);
  expect(rate / rps).toBeGreaterThan(0.95);
  const needed = (rps * latencyMs) / 1000;
  expect(targets.at(-1)).toBeGreaterThan(needed);
  expect(targets.at(-1)).toBeLessThanOrEqual(Math.min(MOST_IN_FLIGHT, 1.5 * needed + 2));
});

test('a source at its limit is not asked for more at once, however long it takes', () => {
  const { rate, targets } = run(25, { latencyMs: 500, capacity: 5 }, 200_000);
  expect(rate).toBeGreaterThan(4.8);
  expect(targets.slice(60_000).filter((target) => target >= 16)).toEqual([]);
});

test('a source that fails is asked for less at once, and for more when it has recovered', () => {
  const well = run(25, { latencyMs: 1000 }, 60_000);
  const ill = run(25, { latencyMs: 1000, failing: 3 }, 60_000);
  expect(ill.targets.at(-1)).toBeLessThan(4);
  expect(well.targets.at(-1)).toBeGreaterThan(25);
});
