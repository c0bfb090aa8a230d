import { expect, test } from 'vitest';
import { followCourse } from '../../../../src/commands/output/progress/course.ts';

test('where no page comes any more it is told who holds up the next one, whatever took the time before', () => {
  let [now, workedOn, requests] = [0, 0, 0];
  const course = followCourse({
    tasks: [],
    work: [],
    requests: () => requests,
    workedOn: () => workedOn,
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
});
