import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { createSharedBudget } from '../../src/ledger/shared-budget.ts';
import { createRateLimiter, type RateLimit } from '../../src/simulator/http/rate-limiter.ts';
import { startFakeApi, type FakeApi } from '../api/fake-api.ts';
import { openTestStore, type TestStore } from '../support/database/database.ts';

const SECONDS = Number(process.env['RATE_SECONDS'] ?? 120);
const RPS = 10;
const KINDS = ['fixed-window', 'sliding-window', 'token-bucket'] as const;

let store: TestStore;
const apis: FakeApi[] = [];
beforeAll(async () => {
  store = await openTestStore();
});
afterAll(async () => {
  await Promise.all(apis.map((api) => api.close()));
  await store.close();
});

interface Latency {
  /** The maximum of milliseconds before the server counts a request. */
  readonly there: number;
  /** The maximum of milliseconds from there to its response. */
  readonly back: number;
}

/**
 * Two minutes of requests from four lanes: the share of the allowed requests that passed, and the share that
 * was refused.
 */
async function drive(limit: RateLimit, { there, back }: Latency) {
  const api = await startFakeApi();
  apis.push(api);
  const limiter = createRateLimiter(limit);
  const end = performance.now() + 1000 * SECONDS;
  let passed = 0;
  let refused = 0;
  api.answer((_request, response) => {
    const answer = () => {
      const status = limiter.admit(performance.now()) === 0 ? 200 : 429;
      if (status === 429) refused += 1;
      else if (performance.now() < end) passed += 1;
      later(back, () => response.writeHead(status).end('{}'));
    };
    later(there, answer);
  });
  const client = api.client({
    budget: createSharedBudget({
      database: store.database,
      host: new URL(api.baseUrl).host,
      rps: RPS,
      clock: systemClock,
    }),
    random: Math.random,
  });
  const lane = async () => {
    while (performance.now() < end) {
      await client.get({ path: '/api/v3/blocks', parse: (body) => body, priority: 'backfill' });
    }
  };
  await Promise.all(Array.from({ length: 8 }, lane));
  return { used: passed / (RPS * SECONDS), refused: refused / (passed + refused) };
}

function later(atMost: number, run: () => void): void {
  if (atMost === 0) run();
  else setTimeout(run, Math.random() * atMost);
}

test.concurrent.each(KINDS)('a %s, without latency: 97% used, nothing refused', async (kind) => {
  const { used, refused } = await drive({ kind, rps: RPS }, { there: 0, back: 0 });
  console.log(kind, 'without latency', { used, refused });
  expect(refused).toBe(0);
  expect(used).toBeGreaterThanOrEqual(0.97);
});

test.concurrent.each(KINDS)('a %s, responses after 0 to 100 ms: 95% used, 0.2% refused', async (kind) => {
  const { used, refused } = await drive({ kind, rps: RPS }, { there: 0, back: 100 });
  console.log(kind, 'late answers', { used, refused });
  expect(refused).toBeLessThanOrEqual(0.002);
  expect(used).toBeGreaterThanOrEqual(0.95);
});

test.concurrent.each(KINDS)(
  'a %s, arrivals 0 to 100 ms late that it tolerates: 95% used, 0.2% refused',
  async (kind) => {
    const { used, refused } = await drive({ kind, rps: RPS, graceMs: 100 }, { there: 100, back: 0 });
    console.log(kind, 'late arrivals, grace', { used, refused });
    expect(refused).toBeLessThanOrEqual(0.002);
    expect(used).toBeGreaterThanOrEqual(0.95);
  },
);

/** A client that cannot know when a request arrives must leave the mean of its delay free: 10 requests in 1050 ms. */
test.concurrent.each(KINDS)(
  'a %s, arrivals 0 to 100 ms late that it counts strictly: 90% used, 0.3% refused',
  async (kind) => {
    const { used, refused } = await drive({ kind, rps: RPS }, { there: 100, back: 0 });
    console.log(kind, 'late arrivals, strict', { used, refused });
    expect(refused).toBeLessThanOrEqual(0.003);
    expect(used).toBeGreaterThanOrEqual(0.9);
  },
);
