import { expect, test } from 'vitest';
import type { Clock } from '../src/clock.ts';
import { ApiUnavailableError } from '../src/errors.ts';
import { patiently } from '../src/patience.ts';
import { never, silent } from './support/crawl.ts';

/** A clock whose sleeps take no time, and are told. */
function fakeClock(): Clock & { time: number; readonly slept: number[] } {
  const slept: number[] = [];
  return {
    time: 0,
    slept,
    now: () => 0,
    monotonic() {
      return this.time;
    },
    sleep(ms) {
      slept.push(ms);
      return Promise.resolve();
    },
  };
}

/** Runs a task whose attempts each fail after so many minutes, as often as it is tried. */
async function fail(minutes: readonly number[], attempts: number): Promise<number[]> {
  const clock = fakeClock();
  let number = 0;
  const task = () => {
    const after = minutes[number];
    number += 1;
    if (after === undefined) return Promise.resolve();
    clock.time += after * 60_000;
    return Promise.reject(new ApiUnavailableError('away'));
  };
  const patience = { clock, logger: silent, signal: never.finishing, attempts };
  await patiently(patience, 'a test', task);
  return clock.slept;
}

test('an API that stays away is asked after pauses that double, up to a minute', async () => {
  expect(await fail([0, 0, 0, 0, 0, 0, 0, 0], 10)).toEqual([
    1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000,
  ]);
});

test('an API that stays away is given up after the last attempt', async () => {
  await expect(fail([0, 0, 0], 3)).rejects.toThrow(ApiUnavailableError);
});

test('after a while of good work the attempts are counted anew', async () => {
  expect(await fail([0, 0, 60, 60, 60, 60, 0], 4)).toEqual([1000, 2000, 1000, 1000, 1000, 1000, 2000]);
});
