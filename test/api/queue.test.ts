import { afterAll, beforeAll, expect, test } from 'vitest';
import { linkSignals } from '../../src/api/link-signals.ts';
import { PRIORITIES, type Priority } from '../../src/budget/priority.ts';
import { json, startFakeApi, type HttpResponse, type FakeApi } from './fake-api.ts';

let api: FakeApi;
beforeAll(async () => {
  api = await startFakeApi();
});
afterAll(() => api.close());

const later =
  (ms: number): HttpResponse =>
  (request, response, body) => {
    setTimeout(() => {
      json({})(request, response, body);
    }, ms);
  };

test('when lanes are short, the more urgent goes first and the tail never waits for the others', async () => {
  api.answer(later(100), later(5));
  const client = api.client({ concurrency: 1 });
  const get = (priority: Priority) =>
    client.get({ path: '/api/v3/blocks', params: { priority }, parse: (body) => body, priority });
  const first = get('refresh');
  const rest = [...PRIORITIES].reverse().map(get);
  await Promise.all([first, ...rest]);
  const order = api.seen.map(({ url }) => new URL(url, 'http://x').searchParams.get('priority'));
  expect(order[0]).not.toBe('backfill');
  expect(order.filter((priority) => priority !== 'tail')).toEqual([
    'refresh',
    'repair',
    'backfill',
    'refresh',
  ]);
  expect(order.indexOf('tail')).toBeLessThan(2);
});

test('as many requests are under way as there are lanes', async () => {
  let underWay = 0;
  let most = 0;
  api.answer((request, response, body) => {
    underWay += 1;
    most = Math.max(most, underWay);
    setTimeout(() => {
      underWay -= 1;
      json({})(request, response, body);
    }, 30);
  });
  const client = api.client({ concurrency: 3 });
  await Promise.all(
    Array.from({ length: 9 }, () =>
      client.get({ path: '/api/v3/blocks', parse: (body) => body, priority: 'repair' }),
    ),
  );
  expect(most).toBe(3);
});

test('a linked signal ends with the first of its sources, for its reason, and a released one with none', () => {
  const [a, b] = [new AbortController(), new AbortController()];
  const link = linkSignals(a.signal, undefined, b.signal);
  const released = linkSignals(a.signal, b.signal);
  released.release();
  b.abort('b');
  a.abort('a');
  expect(link.signal.reason).toBe('b');
  expect(released.signal.aborted).toBe(false);
  expect(linkSignals(b.signal).signal.reason).toBe('b');
});
