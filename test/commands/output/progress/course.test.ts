import { expect, test } from 'vitest';
import { overallWords } from '../../../../src/commands/output/progress/overall-words.ts';
import { followCourse, type WaitsFor } from '../../../../src/commands/output/progress/course.ts';

test('where no page comes any more it is told who holds up the next one, whatever took the time before', () => {
  let [now, workedOn, requests] = [0, 0, 0];
  let blocked: WaitsFor | undefined;
  const course = followCourse({
    tasks: [],
    work: [],
    requests: () => requests,
    workedOn: () => workedOn,
    blockedBy: () => blocked,
    rps: 100,
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
  const course = followCourse({
    tasks: [],
    work: [{ dataset: 'blocks', range, missing: new Map([['', [range]]]) }],
    requests: () => 1,
    workedOn: () => 0,
    blockedBy: () => undefined,
    rps: 100,
    now: () => 0,
  });
  expect(course.all()).toMatchObject({ percent: 0, waitsFor: 'server' });
  expect(overallWords(course.all(), undefined, 200)).toContain('waits for the server');
  const page = { dataset: 'blocks', scope: '', records: 1, bytes: 1, ms: 1, writingMs: 1 };
  course.onPage({ ...page, completed: range });
  expect(course.all()).toMatchObject({ percent: 100, waitsFor: undefined });
  expect(overallWords(course.all(), undefined, 200)).not.toContain('waits');
});
