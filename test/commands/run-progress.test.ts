import { describe, expect, test } from 'vitest';
import { createInFlight } from '../../src/budget/request-budget.ts';
import { systemClock } from '../../src/clock.ts';
import { trackRun, type WaitsFor, overallWords } from '../../src/commands/progress-display.ts';

test('a dataset that another brings counts in the percentage, which never falls, once the other is read', () => {
  const range = { from: 0, to: 100 };
  const work = ['traces', 'transactions'].map((dataset) => ({
    dataset,
    range,
    missing: new Map([['', [range]]]),
  }));
  const holders = new Map([
    ['traces', undefined],
    ['transactions', 'traces'],
  ]);
  let now = 0;
  const clock = {
    requests: () => 0,
    processing: () => 0,
    blockedBy: () => undefined,
    isRateBound: createInFlight({ rps: 100, clock: systemClock }).isRateBound,
    now: () => (now += 100),
  };
  const fallen = trackRun({ holders, work, ...clock });
  const shown: (number | undefined)[] = [];
  for (const from of [50, 10, 99.99, 0, 100]) {
    for (const dataset of holders.keys())
      fallen.replaceLeft(dataset, from === 100 ? [] : [{ from, to: 100 }]);
    shown.push(fallen.all().percent);
  }
  expect(shown).toEqual([50, 50, 99.9, 99.9, 100]);
  const course = trackRun({ holders, work, ...clock });
  const read = (from: number, to: number) =>
    course.onPage({
      ...{ dataset: 'traces', scope: '', records: 10, bytes: 1, ms: 1, writingMs: 1 },
      completed: { from, to },
    });
  read(50, 100);
  expect([course.comesWith('transactions'), course.all().percent]).toEqual(['traces', 50]);
  read(0, 50);
  expect([course.comesWith('transactions'), course.all().percent]).toEqual([undefined, 50]);
  course.replaceLeft('transactions', []);
  expect([course.comesWith('transactions'), course.all().percent]).toEqual([undefined, 100]);
});

test('if no page comes any more, it prints what delays the next one, whatever took the time before', () => {
  let [now, processing, requests] = [0, 0, 0];
  let blocked: WaitsFor | undefined;
  const course = trackRun({
    holders: new Map(),
    work: [],
    requests: () => requests,
    processing: () => processing,
    blockedBy: () => blocked,
    isRateBound: createInFlight({ rps: 100, clock: systemClock }).isRateBound,
    now: () => now,
  });
  const page = { dataset: 'blocks', scope: '', records: 1, completed: undefined, bytes: 1 };
  const waitsFor = () => course.all().waitsFor;
  expect(waitsFor()).toBe('server');
  for (now = 1000; now <= 3000; now += 1000) course.onPage({ ...page, ms: 10, writingMs: 900 });
  expect(waitsFor()).toBe('database');
  now += 11_000;
  expect(waitsFor()).toBe('server');
  processing = 1;
  expect(waitsFor()).toBe('database');
  requests = 2000;
  course.onPage({ ...page, ms: 10, writingMs: 1 });
  [now, requests] = [now + 1000, requests + 90];
  expect(waitsFor()).toBe('budget');
  for (blocked of ['disk', 'pause', 'process'] as const) expect(waitsFor()).toBe(blocked);
});

test('a run that has read everything waits for nothing', () => {
  const range = { from: 0, to: 10 };
  const course = trackRun({
    holders: new Map(),
    work: [{ dataset: 'blocks', range, missing: new Map([['', [range]]]) }],
    requests: () => 1,
    processing: () => 0,
    blockedBy: () => undefined,
    isRateBound: createInFlight({ rps: 100, clock: systemClock }).isRateBound,
    now: () => 0,
  });
  expect(course.all()).toMatchObject({ percent: 0, waitsFor: 'server' });
  expect(overallWords(course.all(), undefined, 200)).toContain('waits for the server');
  const page = { dataset: 'blocks', scope: '', records: 1, bytes: 1, ms: 1, writingMs: 1 };
  course.onPage({ ...page, completed: range });
  expect(course.all()).toMatchObject({ percent: 100, waitsFor: undefined });
  expect(overallWords(course.all(), undefined, 200)).not.toContain('waits');
});

describe('the time left', () => {
  const range = { from: 0, to: 1000 };

  function openRun(holders: ReadonlyMap<string, string | undefined>) {
    const clock = { now: 0 };
    const work = [...holders.keys()].map((dataset) => ({
      dataset,
      range,
      missing: new Map([['', [range]]]),
    }));
    const course = trackRun({
      ...{ holders, work, requests: () => 0, processing: () => 0, blockedBy: () => undefined },
      isRateBound: createInFlight({ rps: 100, clock: systemClock }).isRateBound,
      now: () => clock.now,
    });
    const read = (at: number, from: number, to: number, dataset = 'blocks') => {
      clock.now = at;
      const page = { dataset, scope: '', records: 1, bytes: 1, ms: 1, writingMs: 1 };
      course.onPage({ ...page, completed: { from, to } });
    };
    return { clock, course, read };
  }

  const blocks = new Map([['blocks', undefined]]);

  test('follows the seconds that pages complete, and is zero at the end', () => {
    const { course, read } = openRun(blocks);
    expect(course.all().left).toBeUndefined();
    read(5000, 900, 1000);
    expect(course.all().left).toBeUndefined();
    read(6000, 800, 900);
    expect(course.all().left).toBeCloseTo(8, 1);
    read(7000, 700, 800);
    expect(course.all().left).toBeCloseTo(7, 1);
    read(8000, 0, 700);
    expect(course.all().left).toBe(0);
  });

  test('follows a change of the rate', () => {
    const { course, read } = openRun(blocks);
    for (let at = 0; at < 100; at += 1) read(at * 1000, 999 - at, 1000 - at);
    expect(course.all().left).toBeCloseTo(900, 1);
    for (let at = 0; at < 30; at += 1) read(100_000 + at * 10_000, 890 - at * 10, 900 - at * 10);
    for (let at = 0; at < 50; at += 1) read(400_000 + at * 10_000, 590 - at * 10, 600 - at * 10);
    expect(course.all().left).toBeCloseTo(100, 0);
  });

  test('grows while nothing comes', () => {
    const { clock, course, read } = openRun(blocks);
    read(0, 900, 1000);
    read(1000, 800, 900);
    clock.now = 60_000;
    expect(course.all().left).toBeCloseTo(8 * 60, 1);
  });

  test('counts what another process has covered as done', () => {
    const { course, read } = openRun(blocks);
    read(0, 900, 1000);
    read(1000, 800, 900);
    course.replaceLeft('blocks', [{ from: 0, to: 400 }]);
    expect(course.all().left).toBeCloseTo(4, 1);
  });

  test('counts no rows that come with the pages of another dataset', () => {
    const { course, read } = openRun(new Map([...blocks, ['messages', 'blocks']]));
    read(0, 900, 1000);
    read(1000, 800, 900);
    expect(course.all().left).toBeCloseTo(8, 1);
    read(2000, 0, 800);
    expect(course.all().left).toBeUndefined();
    course.replaceLeft('messages', []);
    expect(course.all().left).toBe(0);
  });
});
