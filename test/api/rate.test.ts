import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createLocalBudget } from '../../src/api/rate.ts';
import { systemClock } from '../../src/clock.ts';
import type { Priority } from '../../src/budget/priority.ts';
import { startFakeApi, type FakeApi } from './fake-api.ts';
import { LIMITERS } from './limiters.ts';
import { manualClock } from './manual-clock.ts';

const forever = new AbortController().signal;

describe('the budget of one process', () => {
  test('serves the more urgent first, then in order of arrival', async () => {
    const clock = manualClock();
    const budget = createLocalBudget({ rps: 1, clock });
    const order: string[] = [];
    const take = async (name: string, priority: Priority) => {
      await budget.take(priority, forever);
      order.push(name);
    };
    const all = [
      take('first', 'refresh'),
      take('refresh', 'refresh'),
      take('backfill 1', 'backfill'),
      take('repair', 'repair'),
      take('backfill 2', 'backfill'),
      take('tail', 'tail'),
    ];
    await clock.advance(10_000);
    await Promise.all(all);
    expect(order).toEqual(['first', 'tail', 'repair', 'backfill 1', 'backfill 2', 'refresh']);
  });

  test('lets nobody go while the server wants a pause', async () => {
    const clock = manualClock();
    const budget = createLocalBudget({ rps: 10, clock });
    let taken = 0;
    const takers = Array.from({ length: 5 }, () => budget.take('tail', forever).then(() => (taken += 1)));
    await clock.advance(0);
    expect(taken).toBe(1);
    void budget.refused(5000);
    await clock.advance(4999);
    expect(taken).toBe(1);
    await clock.advance(1000);
    await Promise.all(takers);
    expect(taken).toBe(5);
  });

  test('gives an aborted waiter its reason at once, and its slot to the next', async () => {
    const clock = manualClock();
    const budget = createLocalBudget({ rps: 1, clock });
    const stop = new AbortController();
    await budget.take('tail', forever);
    const aborted = budget.take('tail', stop.signal).catch((error: unknown) => error);
    const next = budget.take('refresh', forever);
    stop.abort('enough');
    expect(await aborted).toBe('enough');
    await clock.advance(1200);
    await next;
    await expect(budget.take('tail', stop.signal)).rejects.toBe('enough');
  });

  test('goes on after all waiters have left', async () => {
    const clock = manualClock();
    const budget = createLocalBudget({ rps: 1, clock });
    await budget.take('tail', forever);
    for (let i = 0; i < 3; i += 1) {
      const stop = new AbortController();
      const left = budget.take('tail', stop.signal).catch((error: unknown) => error);
      stop.abort('enough');
      const came = budget.take('tail', forever);
      expect(await left).toBe('enough');
      await clock.advance(1200);
      await came;
    }
  });
});

describe('with a real server that counts', () => {
  const apis = new Map<string, FakeApi>();
  beforeAll(async () => {
    for (const name of Object.keys(LIMITERS)) apis.set(name, await startFakeApi());
  });
  afterAll(async () => {
    for (const api of apis.values()) await api.close();
  });

  test.concurrent.each(Object.entries(LIMITERS))('nine seconds against a %s', async (name, limiter) => {
    const api = apis.get(name)!;
    const allowed = limiter(10);
    const statuses: number[] = [];
    api.answer((_request, response) => {
      const passes = allowed(performance.now());
      response.writeHead(passes ? 200 : 429).end('{}');
    });
    const client = api.client({
      budget: createLocalBudget({ rps: 10, clock: systemClock }),
      onExchange: ({ status }) => statuses.push(status),
    });
    const end = performance.now() + 9000;
    const lane = async () => {
      while (performance.now() < end) {
        await client.get({ path: '/api/v3/blocks', parse: (body) => body, priority: 'backfill' });
      }
    };
    await Promise.all(Array.from({ length: 4 }, lane));
    // A machine that is busy with other tests may stall a request on its way: one refusal, not more.
    expect(statuses.filter((status) => status === 429).length).toBeLessThanOrEqual(1);
    expect(statuses.filter((status) => status === 200).length).toBeGreaterThan(75);
  });
});
