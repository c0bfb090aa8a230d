import { expect, test } from 'vitest';
import { systemClock, type Clock, CONFLICT, createOutageLog, outlast, OUTAGE, retry } from '../src/clock.ts';
import {
  ApiUnavailableError,
  AuthError,
  DatabaseConflictError,
  EXIT,
  NoEndpointError,
  NotFoundError,
  RequestRefusedError,
  WrongDatabaseError,
  WrongNetworkError,
  toError,
} from '../src/errors.ts';
import { never, silent } from './support/crawl.ts';
import { keptLog } from './support/program/log-lines.ts';

/** A clock whose sleeps take no time, and are recorded. */
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

/** Runs a task whose attempts fail after these minutes each, as often as it is retried. */
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
  await retry({ ...OUTAGE, clock, random: () => 1, signal: never.finishing, attempts }, task);
  return clock.slept;
}

test('an API that stays unavailable is retried after pauses that double, up to a minute', async () => {
  expect(await fail([0, 0, 0, 0, 0, 0, 0, 0], 10)).toEqual([
    1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000,
  ]);
});

test('an API that stays unavailable is given up after the last attempt', async () => {
  await expect(fail([0, 0, 0], 3)).rejects.toThrow(ApiUnavailableError);
});

test('after a period of success, attempts are counted from zero', async () => {
  expect(await fail([0, 0, 60, 60, 60, 60, 0], 4)).toEqual([1000, 2000, 1000, 1000, 1000, 1000, 2000]);
});

test('a permanent error is thrown at once', async () => {
  const clock = fakeClock();
  const failing = () => Promise.reject(new NotFoundError('not there'));
  await expect(retry({ ...OUTAGE, clock, random: () => 1, attempts: 3 }, failing)).rejects.toThrow(
    'not there',
  );
  expect(clock.slept).toEqual([]);
});

test('transactions that collided wait for a random part of pauses that double', async () => {
  const clock = fakeClock();
  const failing = () => Promise.reject(new DatabaseConflictError('deadlock'));
  await expect(retry({ ...CONFLICT, clock, random: () => 0.5, attempts: 4 }, failing)).rejects.toThrow(
    'deadlock',
  );
  expect(clock.slept).toEqual([50, 100, 200]);
});

/** Minutes until a source with these responses is given up; undefined if it never is. The last response is repeated. */
async function givenUpAfter(
  answers: readonly (Error | number)[],
  attempts = Infinity,
): Promise<number | undefined> {
  const clock = fakeClock();
  const stop = new AbortController();
  let asked = 0;
  clock.sleep = (ms) => {
    clock.time += ms;
    if (clock.time > 3 * 3_600_000) stop.abort();
    return Promise.resolve();
  };
  const ask = () => {
    const answer = answers[asked % answers.length];
    asked += 1;
    if (answer instanceof Error) return Promise.reject(answer);
    // No process asked for this many minutes.
    clock.time += (answer ?? 0) * 60_000;
    return Promise.reject(new AuthError('forbidden'));
  };
  const options = { clock, random: () => 1, logger: silent, attempts, signal: stop.signal };
  return outlast(options, 'a test', ask).then(
    () => undefined,
    () => clock.time / 60_000,
  );
}

test('a source that refuses is believed after ten minutes of nothing but refusals', async () => {
  const refused = Array.from({ length: 12 }, () => new AuthError('forbidden'));
  const after = await givenUpAfter(refused);
  expect(after).toBeGreaterThanOrEqual(10);
  expect(after).toBeLessThan(12);
  // Another error among them: it is unavailable, too, and may come back with another response.
  expect(await givenUpAfter([...refused.slice(0, 8), new ApiUnavailableError('away')])).toBeUndefined();
  expect(await givenUpAfter([...refused.slice(0, 8), new DatabaseConflictError('met')])).toBeUndefined();
  // The process was stopped in between, or read what it could.
  expect(await givenUpAfter([...refused.slice(0, 6), 6])).toBeUndefined();
});

test('another network is believed after ten minutes, or at once by a caller that does not wait as long as it takes', async () => {
  const other = new WrongNetworkError('the API serves testnet');
  const after = await givenUpAfter([other]);
  expect(after).toBeGreaterThanOrEqual(10);
  expect(after).toBeLessThan(12);
  expect(await givenUpAfter([other], 6)).toBe(0);
  expect(await givenUpAfter([new WrongDatabaseError('another schema')])).toBe(0);
});

test('a signal ends the pause: retry throws its reason, outlast returns undefined', async () => {
  const failing = () => Promise.reject(new ApiUnavailableError('away'));
  const options = { clock: systemClock, random: () => 1, logger: silent, attempts: Infinity };
  const stopped = () => AbortSignal.timeout(20);
  const pause = { ...OUTAGE, delay: () => 60_000 };
  await expect(retry({ ...options, ...pause, signal: stopped() }, failing)).rejects.toThrow(/timeout/);
  await expect(outlast({ ...options, signal: stopped() }, 'a test', failing)).resolves.toBeUndefined();
});

test.each([
  ['a path', new NotFoundError('not found')],
  ['an endpoint', new NoEndpointError('Cannot GET /api/v3/masterchainInfo')],
  ['a parameter', new RequestRefusedError('bad request')],
  ['the key', new AuthError('forbidden')],
])('a source that refuses %s for ten minutes needs a person: exit 2', async (_, refusal) => {
  const clock = fakeClock();
  clock.sleep = (ms) => Promise.resolve(void (clock.time += ms));
  const options = { clock, random: () => 1, logger: silent, signal: never.finishing };
  const ask = () => Promise.reject(refusal);
  const ended: unknown = await outlast({ ...options, attempts: Infinity }, 'a test', ask).catch(toError);
  expect(ended).toMatchObject({
    exitCode: EXIT.usage,
    retryable: false,
    message: expect.stringContaining(refusal.message) as string,
  });
  // One or a few attempts prove only that this request failed.
  expect(await outlast({ ...options, attempts: 3 }, 'a test', ask).catch(toError)).toBe(refusal);
});

test('an outage is logged once when it begins and once when it ends, even by work that continues', async () => {
  const clock = fakeClock();
  const { logger, records } = keptLog('info');
  const outage = createOutageLog(logger, clock);
  const options = { clock, random: () => 1, logger, attempts: Infinity, signal: never.finishing, outage };
  const messages = () => records.map(({ what, msg }) => `${String(what)}: ${String(msg)}`);
  let [failures, ended] = [0, false];
  let end = (): void => undefined;
  /** Fails a few times, then works forever. */
  const endless = outlast(options, 'the backfill', async (onAnswer) => {
    failures += 1;
    if (failures < 4) throw new ApiUnavailableError('away');
    onAnswer();
    await new Promise<void>((resolve) => (end = resolve));
  }).then(() => (ended = true));
  let others = 0;
  await outlast(options, 'retention', () => {
    others += 1;
    return others < 3 ? Promise.reject(new ApiUnavailableError('away')) : Promise.resolve();
  });
  await expect.poll(() => records.length).toBe(2);
  expect(messages()).toEqual(['the backfill: not available, retrying', 'the backfill: available again']);
  expect(ended).toBe(false);
  end();
  await endless;
  expect(records).toHaveLength(2);
});
