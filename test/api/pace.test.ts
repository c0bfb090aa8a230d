import { describe, expect, test } from 'vitest';
import { createPace } from '../../src/api/pace.ts';
import { LIMITERS, slidingWindow, type Limiter } from './limiters.ts';

/** Milliseconds from `from` to `to`, evenly spread. */
type Spread = readonly [from: number, to: number];

interface Run {
  readonly rps: number;
  readonly limiter: Limiter;
  readonly seconds?: number;
  /** From send to the server's count, and from there to the answer. */
  readonly there?: Spread;
  readonly back?: Spread;
  readonly lanes?: number;
}

/** Runs a pace against a limiter in virtual time: timers late by up to 1.2 ms, `lanes` requests under way at most. */
function simulate({ rps, limiter, seconds = 120, there = [0, 0.5], back = [0.5, 3], lanes = 64 }: Run) {
  const pace = createPace({ rps });
  const random = randomFrom(rps);
  const between = ([from, to]: Spread) => from + random() * (to - from);
  const events: { at: number; run: () => void }[] = [];
  const start = 12_345.6;
  let now = start;
  let underWay = 0;
  let timer = 0;
  let armed = false;
  const passed: number[] = [];
  const refused: number[] = [];
  const after = (ms: number, run: () => void) => void events.push({ at: now + ms, run });
  const pump = () => {
    while (!armed && underWay < lanes) {
      const wait = pace.next() - now;
      if (wait > 0) {
        const mine = (timer += 1);
        armed = true;
        after(Math.ceil(wait) + random() * 1.2, () => {
          if (mine === timer) wake();
        });
      } else send();
    }
  };
  const wake = () => {
    timer += 1;
    armed = false;
    pump();
  };
  const send = () => {
    const sentAt = now;
    pace.sent(now, start);
    underWay += 1;
    after(between(there), () => {
      const good = limiter(now);
      (good ? passed : refused).push(now);
      after(between(back), () => {
        underWay -= 1;
        if (good) pace.answered(now, now - sentAt);
        else pace.refused(now, undefined);
        wake();
      });
    });
  };
  pump();
  for (;;) {
    const next = events.reduce((best, event) => (event.at < best.at ? event : best));
    if (next.at > start + seconds * 1000) break;
    events.splice(events.indexOf(next), 1);
    now = next.at;
    next.run();
  }
  return {
    used: passed.length / (rps * seconds),
    refused: refused.length / (passed.length + refused.length),
    passed,
  };
}

/** Mulberry32. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

describe.each(Object.entries(LIMITERS))('against a %s', (_name, limiter) => {
  test.each([1, 10, 25, 100])('at %d rps nearly all is used and nothing refused', (rps) => {
    const { used, refused } = simulate({ rps, limiter: limiter(rps) });
    expect(refused).toBe(0);
    expect(used).toBeGreaterThan(0.98);
  });

  test('answers that take long cost 1.2 % of the rate, no more', () => {
    const { used, refused } = simulate({ rps: 10, limiter: limiter(10), there: [0, 5], back: [200, 1500] });
    expect(refused).toBe(0);
    expect(used).toBeGreaterThan(0.975);
  });

  test('answers that take 0 to 100 ms leave 97 % used and nothing refused', () => {
    const { used, refused } = simulate({ rps: 10, limiter: limiter(10), back: [0, 100] });
    expect(refused).toBe(0);
    expect(used).toBeGreaterThan(0.97);
  });

  test('requests that arrive up to 100 ms late are refused at most once, then allowed for', () => {
    const { used, refused } = simulate({ rps: 10, limiter: limiter(10), there: [0, 100], back: [0, 1] });
    expect(refused).toBeLessThanOrEqual(0.002);
    expect(used).toBeGreaterThan(0.92);
  });

  test('a plan that is smaller than the setting is found', () => {
    const { used, refused } = simulate({ rps: 10, limiter: limiter(5), there: [0, 5] });
    expect(refused).toBeLessThan(0.03);
    expect(used).toBeGreaterThan(0.36);
  });
});

test('no more than the plan arrives in any second, whatever the lanes', () => {
  for (const lanes of [1, 3, 16]) {
    const { passed } = simulate({ rps: 7, limiter: () => true, lanes });
    const limiter = slidingWindow(7);
    expect(passed.every(limiter)).toBe(true);
  }
});

test('sends lie an interval apart from the first on', () => {
  const { passed } = simulate({ rps: 10, limiter: () => true, there: [0, 0], seconds: 3 });
  const gaps = passed.slice(1).map((at, i) => at - (passed[i] ?? 0));
  expect(Math.min(...gaps)).toBeGreaterThan(95);
});

test('a rate below one a second is kept too', () => {
  const pace = createPace({ rps: 0.5 });
  pace.sent(1000, 1000);
  expect(pace.next()).toBeGreaterThanOrEqual(3000);
  expect(pace.next()).toBeLessThan(3150);
});

test('a refusal pauses for as long as the server says, else a second, and longer while it goes on', () => {
  const pace = createPace({ rps: 10 });
  pace.refused(0, 7000);
  expect(pace.next()).toBe(7000);
  pace.refused(7000, undefined);
  expect(pace.next()).toBe(9000);
  pace.refused(9000, undefined);
  expect(pace.next()).toBe(13_000);
});

test('refusals that come back together are one', () => {
  const once = createPace({ rps: 10 });
  const often = createPace({ rps: 10 });
  once.refused(0, undefined);
  for (let i = 0; i < 16; i += 1) often.refused(i, undefined);
  expect(often.next()).toBe(once.next());
});

test('refusals lower the rate by steps, success raises it to the plan again', () => {
  const pace = createPace({ rps: 10 });
  let now = 0;
  const gapsOf = (count: number) => {
    const from = now;
    for (let i = 0; i < count; i += 1) {
      now = Math.max(now, pace.next());
      pace.sent(now, 0);
      pace.answered(now + 1, 1);
    }
    return (now - from) / count;
  };
  const full = gapsOf(100);
  pace.refused(now, undefined);
  pace.refused(now + 1000, undefined);
  pace.refused(now + 3000, undefined);
  now = pace.next();
  expect(gapsOf(20) / full).toBeGreaterThan(1.25);
  gapsOf(2000);
  expect(gapsOf(100) / full).toBeLessThan(1.02);
});
