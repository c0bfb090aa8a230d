import { expect, test } from 'vitest';
import { createInFlight } from '../../src/budget/in-flight.ts';
import { systemClock } from '../../src/clock.ts';
import { trackRun, type WaitsFor, overallWords } from '../../src/commands/progress-display.ts';

test('a dataset that another brings counts in the percentage, which never falls, once the other is read', () => {
  const range = { from: 0, to: 100 };
  const work = ['traces', 'transactions'].map((dataset) => ({
    dataset,
    range,
    missing: new Map([['', [range]]]),
  }));
  const known = { profile: undefined, before: { rows: 0, seconds: 0 }, pageSize: 1000, share: 1 };
  const tasks = [
    { ...known, dataset: 'traces' },
    { ...known, dataset: 'transactions', holder: 'traces' },
  ];
  let now = 0;
  const clock = {
    requests: () => 0,
    workedOn: () => 0,
    blockedBy: () => undefined,
    isRateBound: createInFlight({ rps: 100, clock: systemClock }).isRateBound,
    now: () => (now += 100),
  };
  const fallen = trackRun({ tasks, work, ...clock });
  const shown: (number | undefined)[] = [];
  for (const from of [50, 10, 99.99, 0, 100]) {
    for (const { dataset } of tasks) fallen.replaceLeft(dataset, from === 100 ? [] : [{ from, to: 100 }]);
    shown.push(fallen.all().percent);
  }
  expect(shown).toEqual([50, 50, 99.9, 99.9, 100]);
  const course = trackRun({ tasks, work, ...clock });
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
  let [now, workedOn, requests] = [0, 0, 0];
  let blocked: WaitsFor | undefined;
  const course = trackRun({
    tasks: [],
    work: [],
    requests: () => requests,
    workedOn: () => workedOn,
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
  workedOn = 1;
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
    tasks: [],
    work: [{ dataset: 'blocks', range, missing: new Map([['', [range]]]) }],
    requests: () => 1,
    workedOn: () => 0,
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
