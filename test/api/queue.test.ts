import { afterAll, beforeAll, expect, test } from 'vitest';
import { createInFlight, type InFlight, PRIORITIES, type Priority } from '../../src/budget/request-budget.ts';
import { systemClock, linkSignals } from '../../src/clock.ts';
import { json, startFakeApi, type HttpResponse, type FakeApi } from './fake-api.ts';

let api: FakeApi;
beforeAll(async () => {
  api = await startFakeApi();
});
afterAll(() => api.close());

/** A target of two, and lanes for those that wait for a slot or between two attempts. */
const LANES_OF_TWO = 18;

/** Always the same target. */
const inFlight = (target: number): InFlight => ({
  isRateBound: () => false,
  rateOf: () => 1,
  open: (priority) => createInFlight({ rps: 1000, clock: systemClock }).open(priority),
  target,
  evenShare: () => target,
  share: () => target,
  noteOthers: () => undefined,
  others: () => ({ requests: 0, processes: 0, isIdle: false }),
  noteIdle: () => undefined,
  count: 0,
  processing: 0,
});

test('if lanes are short, the more urgent request goes first, and the tail never waits for other requests', async () => {
  const held: (() => void)[] = [];
  const hold: HttpResponse = (...exchange) => void held.push(() => json({})(...exchange));
  api.answer(hold);
  const client = api.client({ inFlight: inFlight(2) });
  const get = (priority: Priority) =>
    client.get({ path: '/api/v3/blocks', params: { priority }, parse: (body) => body, priority });
  const all = Array.from({ length: LANES_OF_TWO }, () => get('refresh'));
  await expect.poll(() => held.length).toBe(LANES_OF_TWO);
  all.push(...[...PRIORITIES].reverse().map(get));
  const late = () =>
    api.seen.slice(LANES_OF_TWO).map(({ url }) => new URL(url, 'http://x').searchParams.get('priority'));
  // Each answer lets one request go. Requests over several connections may arrive in any order.
  const order = ['tail', 'repair', 'backfill', 'refresh'];
  try {
    for (const answered of order.keys()) {
      if (answered > 0) held.shift()?.();
      await expect.poll(late, { timeout: 20_000 }).toEqual(order.slice(0, answered + 1));
    }
  } finally {
    api.answer(json({}));
    for (const release of held) release();
    await Promise.all(all);
  }
});

test('no more requests are in flight than the target, plus some for those that wait', async () => {
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
  const client = api.client({ inFlight: inFlight(2) });
  await Promise.all(
    Array.from({ length: 3 * LANES_OF_TWO }, () =>
      client.get({ path: '/api/v3/blocks', parse: (body) => body, priority: 'repair' }),
    ),
  );
  expect(most).toBe(LANES_OF_TWO);
});

test.each([
  { priority: 'backfill', lanes: LANES_OF_TWO },
  { priority: 'tail', lanes: 16 },
] as const)(
  'what a page of the $priority needs before its commit is answered while other pages keep all lanes and wait for memory',
  async ({ priority, lanes }) => {
    api.answer(json({}));
    const real = createInFlight({ rps: 1000, clock: systemClock });
    const client = api.client({ inFlight: { ...inFlight(2), open: (...how) => real.open(...how) } });
    const request = { path: '/api/v3/blocks', parse: (body: unknown) => body, priority } as const;
    const began = api.seen.length;
    const flights = Array.from({ length: 3 * LANES_OF_TWO }, () => real.open(priority));
    let isOver = false;
    // Each page keeps its memory until all is over.
    const committed = new Promise<void>((resolve) => {
      const pages = flights.map(async (flight) => {
        await client.get({ ...request, flight });
        if (isOver) flight.end();
      });
      void Promise.all(pages).then(() => resolve());
    });
    await expect.poll(() => api.seen.length - began).toBeGreaterThanOrEqual(lanes);
    await expect.poll(() => real.processing).toBeGreaterThan(4);
    expect((await client.get(request)).status).toBe(200);
    isOver = true;
    for (const flight of flights) flight.end();
    await committed;
  },
);

test('a linked signal aborts with the first of its sources, for its reason, and a released one never aborts', () => {
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
