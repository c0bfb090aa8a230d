import { describe, expect, test } from 'vitest';
import { createForecast, type Task } from '../../../src/commands/progress-display.ts';
import { partsOf } from '../../../src/crawl/plan/probe.ts';
import { lengthOf, type Range, without } from '../../../src/range.ts';

const DAY = 86_400;
const PAGE = 1000;

/** Rows a second: ten times as many at noon as at midnight. */
const load = (second: number) => 5 * (1 - (9 / 11) * Math.cos((2 * Math.PI * (second % DAY)) / DAY));

/** A crawler that reads from the newest end, and takes so many milliseconds for each page. */
function* pages(missing: Range, ms: number): Generator<{ rows: number; completed: Range; at: number }> {
  let at = 0;
  for (let to = missing.to; to > missing.from;) {
    let [from, rows] = [to, 0];
    while (from > missing.from && rows < PAGE) {
      from -= 10;
      rows += 10 * load(from);
    }
    at += ms;
    yield { rows: Math.round(rows), completed: { from, to }, at };
    to = from;
  }
}

const whole: Range = { from: 0, to: 3 * DAY };
const task = (facts: Partial<Task> = {}): Task => ({
  dataset: 'transactions',
  profile: undefined,
  before: { rows: 0, seconds: 0 },
  pageSize: PAGE,
  share: 1,
  ...facts,
});
/** The forecast of a dataset, and a function that tells it of a page. */
function openForecast(missing: Range, facts: Partial<Task> = {}) {
  let left: readonly Range[] = [missing];
  const forecast = createForecast([task(facts)], () => left);
  return {
    left: (at: number) => forecast.left(at),
    learn(rows: number, completed: Range, at: number) {
      left = without(left, [completed]);
      forecast.learn('transactions', rows, completed, at);
    },
    replaceLeft(rest: readonly Range[]) {
      left = rest;
    },
  };
}
const profile = partsOf(whole, 72).map((span) => ({ span, perSecond: load((span.from + span.to) / 2) }));

/** By what factor the forecast is too long at each of the shares of the run. */
function errorsOf(missing: Range, facts: Partial<Task>): number[] {
  const all = [...pages(missing, 100)];
  const end = all.at(-1)!.at;
  const forecast = openForecast(missing, facts);
  const errors: number[] = [];
  const marks = [0.25, 0.5, 0.75];
  for (const { rows, completed, at } of all) {
    forecast.learn(rows, completed, at);
    if (at < end * (marks[errors.length] ?? 2)) continue;
    errors.push(((forecast.left(at) ?? 0) * 1000) / (end - at));
  }
  return errors;
}

describe('the time left', () => {
  test('is within 25 % at a quarter, half and three quarters if plan has seen the daily cycle', () => {
    for (const error of errorsOf(whole, { profile })) {
      expect(error).toBeGreaterThan(0.75);
      expect(error).toBeLessThan(1.25);
    }
  });

  test('is so again after a restart half-way', () => {
    const rest = { from: 0, to: 1.4 * DAY };
    const read = { rows: 5 * 1.6 * DAY, seconds: 1.6 * DAY };
    for (const error of errorsOf(rest, { profile, before: read })) {
      expect(error).toBeGreaterThan(0.75);
      expect(error).toBeLessThan(1.25);
    }
  });

  test('relies on what was read so far if whole days were not sampled', () => {
    const before = { rows: 5 * 2 * DAY, seconds: 2 * DAY };
    for (const error of errorsOf({ from: 0, to: DAY }, { before })) {
      expect(error).toBeGreaterThan(0.5);
      expect(error).toBeLessThan(2);
    }
  });

  test('is unknown before anything has come, and zero at the end', () => {
    const forecast = openForecast(whole);
    expect(forecast.left(1000)).toBeUndefined();
    forecast.replaceLeft([]);
    expect(forecast.left(1000)).toBe(0);
    const known = openForecast(whole, { profile });
    expect(known.left(1000)).toBeUndefined();
    known.learn(5, whole, 2000);
    expect(known.left(3000)).toBe(0);
  });

  test('is unknown while no page of a dataset has come, unless another dataset brings it', () => {
    const tasks = [task(), task({ dataset: 'blocks' }), task({ dataset: 'brought', holder: 'blocks' })];
    const forecast = createForecast(tasks, () => [whole]);
    forecast.learn('transactions', PAGE, { from: 0, to: 100 }, 100);
    forecast.learn('transactions', PAGE, { from: 100, to: 200 }, 200);
    expect(forecast.left(300)).toBeUndefined();
    forecast.learn('blocks', 5, { from: 0, to: 1000 }, 300);
    expect(forecast.left(300)).toBeGreaterThan(0);
    const planned = createForecast([task(), task({ dataset: 'blocks', profile })], () => [whole]);
    for (const at of [100, 200]) planned.learn('transactions', PAGE, { from: at - 100, to: at }, at);
    expect(planned.left(300)).toBeGreaterThan(0);
  });

  test('grows while nothing comes', () => {
    const forecast = openForecast(whole, { profile });
    forecast.learn(PAGE, { from: whole.to - 100, to: whole.to }, 100);
    forecast.learn(PAGE, { from: whole.to - 200, to: whole.to - 100 }, 200);
    expect(forecast.left(60_000)!).toBeGreaterThan(5 * forecast.left(1000)!);
  });

  test('counts what another process has covered as done', () => {
    const forecast = openForecast(whole, { profile });
    forecast.learn(PAGE, { from: whole.to - 100, to: whole.to }, 50);
    forecast.learn(PAGE, { from: whole.to - 200, to: whole.to - 100 }, 100);
    const before = forecast.left(100)!;
    const rest = [{ from: 0, to: DAY }];
    forecast.replaceLeft(rest);
    expect(forecast.left(100)! / before).toBeCloseTo(lengthOf(rest) / (whole.to - 200), 1);
  });
});
