import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { systemClock } from '../../src/clock.ts';
import {
  refuseSlots,
  takeSlots,
  type Ask,
  createSharedBudget,
  type SharedBudget,
  LEAST_SLACK_SECONDS,
} from '../../src/ledger/shared-budget.ts';
import { readSpending } from '../../src/ledger/workers.ts';
import { DatabaseUnavailableError } from '../../src/errors.ts';
import { type Budget, PRIORITIES, rankOf, type Priority } from '../../src/budget/request-budget.ts';
import { failureOf, json, startFakeApi } from '../api/fake-api.ts';
import { startCountingServer } from '../support/budget/counting-server.ts';
import { startSpenders } from '../support/budget/spenders.ts';
import { compile } from '../support/program/compile.ts';
import { openTestStore, type TestStore } from '../support/database/database.ts';
import { slowness } from '../support/slowness.ts';
import { thorough } from '../support/thorough.ts';

const forever = new AbortController().signal;

let compiled: string;
let store: TestStore;
let number = 0;
beforeAll(async () => {
  [compiled, store] = await Promise.all([compile(), openTestStore()]);
});
afterAll(async () => {
  await store.close();
});

function newHost(): string {
  number += 1;
  return `host${number}`;
}

/** A budget whose first request may go out at once. */
async function readyHost(): Promise<string> {
  const host = newHost();
  await ask(host, 'backfill', { wanted: 0 });
  await set(host, sql`free_at = 0, asked_at = '{0,0,0,0}'`);
  return host;
}

async function set(host: string, changes: ReturnType<typeof sql>) {
  await store.database.run(sql`update etl.budget set ${changes} where host = ${host}`);
}

function ask(host: string, priority: Priority, changes: Partial<Ask> = {}) {
  const rank = rankOf(priority);
  return takeSlots(store.database, {
    host,
    rps: 10,
    rank,
    wanted: 1,
    called: false,
    succeeded: 0,
    ...changes,
  });
}

async function rowOf(host: string) {
  const Row = z.object({
    factor: z.number(),
    slack: z.number(),
    generation: z.coerce.number(),
    paused: z.number(),
  });
  const [row] = await store.database.rows(
    sql`select factor, slack, generation, resumed_at - extract(epoch from clock_timestamp())::float8 as paused
        from etl.budget where host = ${host}`,
    Row,
  );
  return row!;
}

describe('the row of a host', () => {
  test('leaves as much time before the first request as a second request would have to wait, no matter which comes first', async () => {
    const host = newHost();
    const answers = await Promise.all(Array.from({ length: 10 }, () => ask(host, 'tail', { rps: 1 })));
    for (const { granted, again } of answers) {
      expect(granted).toBe(0);
      expect(again).toBeGreaterThan(0.3);
    }
  });

  test('gives slots a little more than a tenth of a second apart, never more than half a second at once', async () => {
    const host = await readyHost();
    const { granted, first, spacing } = await ask(host, 'backfill', { wanted: 100 });
    expect({ granted, first }).toEqual({ granted: 5, first: 0 });
    expect(spacing).toBeCloseTo(0.103, 5);
    const next = await ask(host, 'backfill', { wanted: 100 });
    expect(next.granted).toBe(0);
    expect(next.again).toBeGreaterThan(0.3);
  });

  test.each([10, 2.5, 0.5])(
    'of %d requests a second gives the rate that status prints, and a slot may be used late within its slack',
    async (rps) => {
      const host = await readyHost();
      const { spacing } = await ask(host, 'backfill', { rps });
      const { budgets } = await readSpending(store.database);
      expect(budgets.find((budget) => budget.host === host)?.rate).toBeCloseTo(1 / spacing, 10);
      const perWindow = Math.max(1, Math.floor(rps));
      expect(spacing).toBeCloseTo(1 / rps + LEAST_SLACK_SECONDS / perWindow, 10);
    },
  );

  test('never gives the same time twice to processes that ask at once', async () => {
    const host = await readyHost();
    const asked = performance.now();
    const answers = await Promise.all(
      Array.from({ length: 40 }, () => ask(host, 'tail', { rps: 1000, wanted: 3 })),
    );
    const total = answers.reduce((sum, { granted }) => sum + granted, 0);
    expect(total).toBe(120);
    const next = await ask(host, 'tail', { rps: 1000 });
    // 120 slots of a millisecond are between the first answer and the next slot.
    expect(performance.now() - asked + 1000 * next.first).toBeGreaterThan(120);
  });

  test('puts processes of one priority in a queue, and each learns when to come', async () => {
    const host = await readyHost();
    await ask(host, 'backfill', { wanted: 5 });
    const second = await ask(host, 'backfill', { wanted: 3 });
    const third = await ask(host, 'backfill', { wanted: 3 });
    expect(third.again - second.again).toBeCloseTo(3 * third.spacing, 1);
    await delay(1000 * second.again);
    expect((await ask(host, 'backfill', { wanted: 3, called: true })).granted).toBe(3);
    expect((await ask(host, 'backfill', { wanted: 3 })).again).toBeGreaterThan(third.again - second.again);
  });

  test('lets more urgent requests take slots ahead, and less urgent ones only slots that are nearly due', async () => {
    const host = await readyHost();
    await ask(host, 'tail');
    await ask(host, 'backfill');
    expect((await ask(host, 'tail', { wanted: 2 })).granted).toBe(2);
    expect((await ask(host, 'backfill')).granted).toBe(0);
    // A block of slots would keep the tail waiting.
    await set(host, sql`free_at = 0`);
    expect((await ask(host, 'backfill', { wanted: 100, called: true })).granted).toBe(1);
    expect((await ask(host, 'refresh', { called: true })).granted).toBe(0);
    expect((await ask(host, 'tail')).granted).toBe(1);
  });

  test('lets the tail take more than half of the rate only while no other request waits', async () => {
    const host = await readyHost();
    await set(host, sql`tail_free_at = extract(epoch from clock_timestamp()) + 10.5`);
    expect((await ask(host, 'tail')).granted).toBe(1);
    expect((await ask(host, 'tail')).granted).toBe(1);
    await ask(host, 'backfill');
    expect((await ask(host, 'tail')).granted).toBe(0);
  });

  test('drops slots from a server that was restarted, and from a clock that was set back', async () => {
    const host = await readyHost();
    await set(host, sql`server_started_at = 1`);
    expect((await ask(host, 'tail')).again).toBeGreaterThan(0.3);
    expect((await ask(host, 'tail')).again).toBeGreaterThan(0.3);
    await set(host, sql`free_at = free_at + 3600`);
    expect((await ask(host, 'tail')).first).toBeCloseTo(1, 2);
  });
});

describe('a refusal', () => {
  test('pauses all processes, and is one event if the slots were of one generation', async () => {
    const host = await readyHost();
    const { generation } = await ask(host, 'tail');
    const refuse = () => refuseSlots(store.database, { host, generation, retryAfterMs: undefined });
    await Promise.all([refuse(), refuse(), refuse()]);
    const row = await rowOf(host);
    expect(row).toMatchObject({ factor: 1, slack: 0.06, generation: 2 });
    expect(row.paused).toBeGreaterThan(0);
    expect((await ask(host, 'tail', { called: true })).first).toBeGreaterThan(0.3);
  });

  test('lasts as long as the server says, whichever generation it is of', async () => {
    const host = await readyHost();
    await refuseSlots(store.database, { host, generation: 1, retryAfterMs: 3000 });
    await refuseSlots(store.database, { host, generation: 1, retryAfterMs: 7000 });
    expect((await rowOf(host)).paused).toBeGreaterThan(6.8);
    expect((await rowOf(host)).generation).toBe(2);
  });

  test('that comes again soon widens the slack, then lowers the rate and doubles the pause; success raises it, slowly near the refused rate', async () => {
    const host = await readyHost();
    const refuse = (generation: number) =>
      refuseSlots(store.database, { host, generation, retryAfterMs: undefined });
    for (const generation of [1, 2]) await refuse(generation);
    const widened = await rowOf(host);
    expect(widened).toMatchObject({ factor: 1, slack: 0.1 });
    expect(widened.paused).toBeLessThan(0.51);
    for (const generation of [3, 4, 5]) await refuse(generation);
    const row = await rowOf(host);
    expect(row.factor).toBeCloseTo(0.75 ** 3, 5);
    expect(row.paused).toBeGreaterThan(3.8);
    await ask(host, 'tail', { succeeded: 40 });
    const raised = (await rowOf(host)).factor;
    expect(raised).toBeGreaterThan(row.factor + 0.05);
    await set(host, sql`refused_factor = factor`);
    await ask(host, 'tail', { succeeded: 40 });
    expect((await rowOf(host)).factor - raised).toBeLessThan(0.01);
  });
});

describe('a pause of more than a minute', () => {
  const HOUR_MS = 3_600_000;
  const pausedHost = async () => {
    const host = await readyHost();
    await refuseSlots(store.database, { host, generation: 1, retryAfterMs: HOUR_MS });
    return host;
  };
  const budgetOf = (host: string, onPause: (seconds: number) => void = () => undefined) =>
    createSharedBudget({ database: store.database, host, rps: 10, clock: systemClock, onPause });
  /** A budget of a process that has been running since before the pause. */
  const busyBudget = async (host: string, onPause?: (seconds: number) => void) => {
    const budget = budgetOf(host, onPause);
    await budget.take('tail', forever);
    return budget;
  };

  test('is tested by one request a minute later, then after growing intervals', async () => {
    const host = await pausedHost();
    expect(await ask(host, 'tail')).toMatchObject({ granted: 0 });
    const pauses: number[] = [];
    for (let generation = 2; generation < 8; generation += 1) {
      await set(host, sql`probe_at = 0`);
      const { granted, paused, generation: own } = await ask(host, 'backfill', { wanted: 5 });
      expect([granted, own]).toEqual([1, generation]);
      expect(paused).toBeGreaterThan(3500);
      // One at a time.
      expect((await ask(host, 'tail')).granted).toBe(0);
      await refuseSlots(store.database, { host, generation, retryAfterMs: HOUR_MS });
      const [row] = await store.database.rows(
        sql`select probe_at - refused_at as pause, factor from etl.budget where host = ${host}`,
        z.object({ pause: z.number(), factor: z.literal(1) }),
      );
      pauses.push(Math.round(row!.pause));
    }
    expect(pauses).toEqual([120, 240, 480, 900, 900, 900]);
  });

  thorough(
    'ends for all with the first request that succeeds, such as that of a new process: it may have another key',
    async () => {
      const host = await readyHost();
      const [one, told]: [SharedBudget, number[]] = [await busyBudget(host, (s) => told.push(s)), []];
      const other = await busyBudget(host);
      await one.refused(HOUR_MS);
      const waits = [one.take('tail', forever), other.take('backfill', forever)];
      await expect.poll(() => one.pausedUntil?.()).toBeGreaterThan(Date.now() + HOUR_MS - 60_000);
      await expect.poll(() => other.pausedUntil?.()).toBeGreaterThan(Date.now());
      const late = performance.now();
      // A request that was sent before the refusal does not prove that the pause is over.
      await one.succeeded(late);
      expect((await rowOf(host)).paused).toBeGreaterThan(3500);
      const fresh = budgetOf(host);
      await fresh.take('refresh', forever);
      await fresh.succeeded(0);
      expect((await rowOf(host)).paused).toBeLessThanOrEqual(0);
      await fresh.take('refresh', forever);
      await Promise.all(waits);
      expect(told.map((seconds) => seconds > 0)).toEqual([true, false]);
      expect(one.pausedUntil?.()).toBeUndefined();
    },
  );

  test('continues if a new process is refused too, which then waits like the others', async () => {
    const host = await pausedHost();
    const newcomer = budgetOf(host);
    await newcomer.take('tail', forever);
    await newcomer.refused(HOUR_MS);
    const waits = new AbortController();
    const second = newcomer.take('tail', waits.signal);
    await expect.poll(() => newcomer.pausedUntil?.()).toBeGreaterThan(Date.now());
    expect(newcomer.waiting()).toEqual({ tail: 1 });
    expect((await rowOf(host)).paused).toBeGreaterThan(3500);
    waits.abort(new Error('enough'));
    await expect(second).rejects.toThrow('enough');
  });

  describe('is probed in time', () => {
    /** Replies come late, but for the first one: later ones are compared with it. */
    const slowly = (work: (reply: unknown) => Promise<void>) => {
      let replies = 0;
      const rows: typeof store.database.rows = async (...query) => {
        const reply = await store.database.rows(...query);
        replies += 1;
        if (replies > 1) await work(reply);
        return reply;
      };
      return { ...store.database, rows };
    };
    const frozen = () => {
      const until = performance.now() + 200;
      while (performance.now() < until);
    };
    const SLOW = [
      ['even if the database replies late', () => delay(250)],
      ['even if the process is frozen for a moment', () => Promise.resolve().then(frozen)],
      [
        'even if the process is frozen as soon as it has its slot',
        () => Promise.resolve(void setImmediate(frozen)),
      ],
    ] as const;
    test.for(SLOW)('%s', async ([, work]) => {
      const host = await readyHost();
      const database = slowly(work);
      const budget = createSharedBudget({ database, host, rps: 10, clock: systemClock });
      await budget.take('tail', forever);
      await refuseSlots(store.database, { host, generation: 1, retryAfterMs: HOUR_MS });
      await set(host, sql`probe_at = 0`);
      await budget.take('backfill', AbortSignal.timeout(5000));
      await budget.succeeded(0);
      expect((await rowOf(host)).paused).toBeLessThanOrEqual(0);
    });
  });

  test('of a few seconds holds new processes, too', async () => {
    const host = await readyHost();
    await refuseSlots(store.database, { host, generation: 1, retryAfterMs: 30_000 });
    expect(await ask(host, 'tail', { isFirst: true })).toMatchObject({ granted: 0, paused: 0 });
  });
});

describe('the budget of a process', () => {
  const budgetOf = (host: string) =>
    createSharedBudget({ database: store.database, host, rps: 10, clock: systemClock });

  test('serves the more urgent first, then in order of arrival', async () => {
    const budget = budgetOf(await readyHost());
    const order: string[] = [];
    const take = (priority: Priority, name: string = priority) =>
      budget.take(priority, forever).then(() => order.push(name));
    await Promise.all([
      take('refresh'),
      take('backfill', 'first backfill'),
      take('repair'),
      take('backfill', 'second backfill'),
      take('tail'),
    ]);
    expect(order).toEqual(['tail', 'repair', 'first backfill', 'second backfill', 'refresh']);
    expect(budget.takeSpent()).toEqual({ tail: 1, repair: 1, backfill: 2, refresh: 1 });
    expect(budget.takeSpent()).toEqual({});
  });

  test.each([
    ['one process', [['tail', 'repair', 'backfill', 'refresh']]],
    ['processes of one priority each', [['tail'], ['repair'], ['backfill'], ['refresh']]],
    [
      'two processes',
      [
        ['tail', 'refresh'],
        ['repair', 'backfill'],
      ],
    ],
  ] as const)('starves no priority of %s that want more than there is', async (_, processes) => {
    const host = await readyHost();
    // The ten seconds that the tail may take at once are over.
    await set(host, sql`tail_free_at = extract(epoch from clock_timestamp()) + 10.5`);
    const stop = new AbortController();
    const budgets = processes.map((priorities) => ({
      priorities,
      budget: createSharedBudget({ database: store.database, host, rps: 100, clock: systemClock }),
    }));
    const taken = new Map<Priority, number>();
    const want = async (budget: Budget, priority: Priority) => {
      while (!stop.signal.aborted) {
        await budget.take(priority, stop.signal);
        taken.set(priority, (taken.get(priority) ?? 0) + 1);
      }
    };
    const wanting = budgets.flatMap(({ budget, priorities }) =>
      priorities.flatMap((priority) =>
        Array.from({ length: 8 }, () => want(budget, priority).catch(() => undefined)),
      ),
    );
    const all = () => [...taken.values()].reduce((sum, count) => sum + count, 0);
    await expect.poll(all, { timeout: 30_000 }).toBeGreaterThan(150);
    stop.abort(new Error('enough'));
    await Promise.all(wanting);
    for (const priority of PRIORITIES) expect(taken.get(priority) ?? 0).toBeGreaterThan(0.015 * all());
    expect(taken.get('tail')).toBeGreaterThan(0.2 * all());
  });

  test('gives an aborted waiter its reason at once', async () => {
    const budget = budgetOf(newHost());
    const stop = new AbortController();
    const waiting = budget.take('tail', stop.signal);
    expect(budget.waiting()).toEqual({ tail: 1 });
    stop.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow('enough');
    expect(budget.waiting()).toEqual({});
    await expect(budget.take('tail', stop.signal)).rejects.toThrow('enough');
  });

  test('continues after all waiters have left', async () => {
    const budget = budgetOf(newHost());
    for (let round = 0; round < 3; round += 1) {
      const stop = new AbortController();
      const left = budget.take('tail', stop.signal);
      stop.abort(new Error('enough'));
      const came = budget.take('tail', forever);
      await expect(left).rejects.toThrow('enough');
      await came;
    }
  });

  test('holds all requests while the server wants a pause', async () => {
    const budget = budgetOf(await readyHost());
    await budget.take('tail', forever);
    await budget.refused(700, 0);
    const refused = performance.now();
    await Promise.all(Array.from({ length: 3 }, () => budget.take('tail', forever)));
    expect(performance.now() - refused).toBeGreaterThan(690);
  });

  test.each(['request', 'client', 'process'] as const)(
    'keeps none of its waits for a Retry-After if the signal of the %s is aborted',
    async (whose) => {
      const api = await startFakeApi();
      const reason = new Error('enough');
      const stop = new AbortController();
      api.answer(json({ error: 'slow down' }, 429, { 'retry-after': '600' }));
      const budget = budgetOf(await readyHost());
      const signals = { client: { signal: stop.signal }, process: { finishing: stop.signal }, request: {} };
      const client = api.client({ budget, ...signals[whose] });
      const request = {
        path: '/api/v3/blocks',
        parse: (body: unknown) => body,
        priority: 'backfill',
      } as const;
      const asked = failureOf(
        client.get({ ...request, ...(whose === 'request' && { signal: stop.signal }) }),
      );
      await expect.poll(() => budget.waiting()).toEqual({ backfill: 1 });
      await expect.poll(() => api.seen).toHaveLength(1);
      stop.abort(reason);
      expect(await asked).toBe(reason);
      expect(budget.waiting()).toEqual({});
      await api.close();
    },
  );

  test('fails waiting requests if the database is unavailable, and works when it is back', async () => {
    const host = await readyHost();
    let away = true;
    const database = {
      ...store.database,
      rows: ((query, row) =>
        away
          ? Promise.reject(new DatabaseUnavailableError('the database is away'))
          : store.database.rows(query, row)) as typeof store.database.rows,
    };
    const budget = createSharedBudget({ database, host, rps: 10, clock: systemClock });
    const takers = ['tail', 'backfill'].map((priority) => budget.take(priority as Priority, forever));
    for (const end of await Promise.allSettled(takers))
      expect(end).toMatchObject({ status: 'rejected', reason: { retryable: true } });
    away = false;
    await budget.take('tail', forever);
  });
});

/** The long form is test/long/budget.long.ts. */
thorough(
  'four processes that start at once use what 25 requests a second allow, and none is refused',
  async () => {
    const [rps, seconds] = [25, 5];
    const server = await startCountingServer({ kind: 'sliding-window', rps, graceMs: 100 }, 100);
    const order = {
      database: store.url,
      api: server.url,
      rps,
      lanes: 4,
      priority: 'backfill',
      pauseMs: 0,
    } as const;
    const spenders = await startSpenders(compiled, [order, order, order, order]);
    spenders.go();
    await delay(1000 * (seconds + 1.5));
    await spenders.stop();
    await server.close();
    const start = server.arrivals[0]?.at ?? 0;
    const within = server.arrivals.filter(({ at }) => at < start + seconds * 1000);
    // A machine that is busy with other tests may lose slots, or bunch a few.
    expect(within.filter(({ refused }) => refused).length).toBeLessThanOrEqual(1);
    expect(within.length).toBeGreaterThan((0.5 * rps * seconds) / slowness());
  },
);
