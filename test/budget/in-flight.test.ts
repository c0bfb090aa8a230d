import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import {
  createInFlight,
  MOST_IN_FLIGHT,
  type InFlight,
  type OtherReaders,
} from '../../src/budget/request-budget.ts';

interface Source {
  /** Milliseconds of a response if the source is idle. */
  readonly latencyMs: number;
  /** Responses a second that the source can give at most; default: any number. */
  readonly capacity?: number;
  /** One of this many requests fails. */
  readonly failing?: number;
  /** What other processes have in flight; default: there are none. */
  readonly others?: OtherReaders;
}

/**
 * Keeps as many requests in flight as the target says, no faster than `rps`, for so many milliseconds of the
 * source's time.
 * @returns answers a second, and the targets and shares that there were
 */
function run(rps: number, source: Source, ms: number): { rate: number; targets: number[]; shares: number[] } {
  let now = 0;
  const inFlight = createInFlight({ rps, clock: { monotonic: () => now } });
  const ends: { readonly at: number; readonly flight: ReturnType<InFlight['open']> }[] = [];
  const [targets, shares]: [number[], number[]] = [[], []];
  if (source.others !== undefined) inFlight.noteOthers(source.others);
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
    shares.push(inFlight.share());
    while (ends.length < inFlight.share() && slot <= now) {
      slot = Math.max(slot, now) + 1000 / rps;
      const flight = inFlight.open('backfill');
      flight.sent();
      free = Math.max(free, now) + 1000 / (source.capacity ?? Infinity);
      ends.push({ at: Math.max(free, now + source.latencyMs), flight });
    }
  }
  return { rate: (answered * 1000) / ms, targets, shares };
}

test.each([
  [10, 50],
  [10, 1000],
  [25, 300],
  [25, 1000],
  [25, 3000],
])('%i requests a second are used if a response takes %i ms', (rps, latencyMs) => {
  const { rate, targets } = run(rps, { latencyMs }, 200_000);
  expect(rate / rps).toBeGreaterThan(0.95);
  const needed = (rps * latencyMs) / 1000;
  expect(targets.at(-1)).toBeGreaterThan(needed);
  expect(targets.at(-1)).toBeLessThanOrEqual(Math.min(MOST_IN_FLIGHT, 1.5 * needed + 2));
});

test('one of eight processes learns what all of them need, and takes its share of it', () => {
  const others = { requests: 35, processes: 7 };
  const { targets, shares } = run(25, { latencyMs: 1000, others }, 60_000);
  expect(targets.at(-1)).toBeGreaterThan(25);
  expect(shares.at(-1)).toBe(5);
});

test('answers that wait for memory slots bring no more requests', async () => {
  let now = 0;
  const inFlight = createInFlight({ rps: 100, clock: { monotonic: () => now } });
  const arrived: ReturnType<InFlight['open']>[] = [];
  const counts: number[] = [];
  for (let round = 0; round < 60; round += 1) {
    while (inFlight.count < inFlight.target) {
      const flight = inFlight.open('backfill');
      flight.sent();
      void flight.arrived(new AbortController().signal).then(() => arrived.push(flight));
    }
    counts.push(inFlight.count);
    await setImmediate();
    now += 100;
    for (const flight of arrived.splice(0)) flight.end();
  }
  // Eight answers are processed at a time, so half as many again are enough.
  expect(Math.min(...counts.slice(-30))).toBeGreaterThanOrEqual(8);
  expect(Math.max(...counts.slice(-30))).toBeLessThanOrEqual(16);
});

test('bodies are read one after another, the most urgent first', async () => {
  const inFlight = createInFlight({ rps: 10, clock: systemClock });
  const read: string[] = [];
  const readAs = (priority: 'tail' | 'backfill', name: string) =>
    inFlight.open(priority).read(async (turn) => {
      read.push(`${name} begins`);
      await turn();
      read.push(`${name} ends`);
    });
  await Promise.all([readAs('backfill', 'one'), readAs('backfill', 'two'), readAs('tail', 'three')]);
  expect(read).toEqual(['one', 'three', 'two'].flatMap((name) => [`${name} begins`, `${name} ends`]));
});

test.each([
  { others: { requests: 0, processes: 0 }, share: 8 },
  { others: { requests: 3, processes: 2 }, share: 5 },
  { others: { requests: 12, processes: 1 }, share: 4 },
  { others: { requests: 14, processes: 2 }, share: 3 },
  { others: { requests: 40, processes: 7 }, share: 1 },
])('of 8 requests a process has $share if others have $others.requests', ({ others, share }) => {
  const inFlight = createInFlight({ rps: 100, clock: { monotonic: () => 0 } });
  inFlight.noteOthers(others);
  expect(inFlight.target).toBe(8);
  expect(inFlight.share()).toBe(share);
});

test('a source that fails gets fewer requests at once, and more when it has recovered', () => {
  const well = run(25, { latencyMs: 1000 }, 60_000);
  const ill = run(25, { latencyMs: 1000, failing: 3 }, 60_000);
  expect(ill.targets.at(-1)).toBeLessThan(4);
  expect(well.targets.at(-1)).toBeGreaterThan(25);
});

test('bodies wait for one of eight slots in memory, the most urgent first, and no longer than the signal allows', async () => {
  const inFlight = createInFlight({ rps: 10, clock: systemClock });
  const { signal } = new AbortController();
  const leaving = new AbortController();
  const held = Array.from({ length: 8 }, () => inFlight.open('backfill'));
  await Promise.all(held.map((flight) => flight.arrived(signal)));
  expect(inFlight.processing).toBe(8);
  const order: string[] = [];
  const waiting = (['backfill', 'tail'] as const).map(async (priority) => {
    const flight = inFlight.open(priority);
    await flight.arrived(signal);
    order.push(priority);
    flight.end();
  });
  const left = inFlight.open('tail').arrived(leaving.signal);
  leaving.abort(new Error('leaving'));
  await expect(left).rejects.toThrow('leaving');
  expect(order).toEqual([]);
  held[0]?.end();
  await Promise.all(waiting);
  expect(order).toEqual(['tail', 'backfill']);
});

test('a process whose bodies wait for memory sends no more requests only to let them wait', async () => {
  let now = 0;
  const inFlight = createInFlight({ rps: 10, clock: { monotonic: () => now } });
  const { signal } = new AbortController();
  const open = async () => {
    const flight = inFlight.open('backfill');
    flight.sent();
    now += 20;
    await flight.arrived(signal);
    return flight;
  };
  const held = await Promise.all(Array.from({ length: 8 }, open));
  const last = open();
  now += 60_000;
  held[0]?.failed(false);
  (await last).end();
  expect(inFlight.target).toBe(2);
});
