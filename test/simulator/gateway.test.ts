import { describe, expect, test } from 'vitest';
import { createRateLimiter, type RateLimit } from '../../src/simulator/http/rate-limiter.ts';
import { startSimulator } from '../support/simulator/simulator.ts';

const SIZE = { duration: 120, load: 2, accounts: 40 } as const;
const KINDS = ['fixed-window', 'sliding-window', 'token-bucket'] as const;

/** Refusals of a client that sends one request each `everyMs` for a minute. */
function refusals(limit: RateLimit, everyMs: number, factor = 1): number {
  const limiter = createRateLimiter(limit, () => factor);
  let refused = 0;
  for (let now = 1_000_000; now < 1_060_000; now += everyMs) if (limiter.admit(now) > 0) refused++;
  return refused;
}

describe.each(KINDS)('a rate limit by %s', (kind) => {
  test('refuses a client that sends one request a second too many', () => {
    expect(refusals({ kind, rps: 10 }, 1000 / 11)).toBeGreaterThan(20);
  });

  test('never refuses a client that keeps to the rate', () => {
    expect(refusals({ kind, rps: 10 }, 100)).toBe(0);
    expect(refusals({ kind, rps: 1 }, 1000)).toBe(0);
  });

  test('lets a slightly early client pass with a grace', () => {
    const early = (graceMs: number): number => {
      const limiter = createRateLimiter({ kind, rps: 1, graceMs, burst: 1 });
      return [5020, 6000, 7010].map((at) => limiter.admit(at)).filter((wait) => wait > 0).length;
    };
    expect(early(100)).toBe(0);
  });

  test('says how long to wait', () => {
    const limiter = createRateLimiter({ kind, rps: 2, burst: 2 });
    limiter.admit(10_000);
    limiter.admit(10_001);
    const wait = limiter.admit(10_002);
    expect(wait).toBeGreaterThan(0);
    expect(limiter.admit(10_002 + wait)).toBe(0);
  });

  test('refuses earlier if its real limit is lower', () => {
    expect(refusals({ kind, rps: 10 }, 100, 0.6)).toBeGreaterThan(150);
  });

  test('responds with 429 in both recorded shapes, and says when to come again', async () => {
    const simulator = await startSimulator({ ...SIZE, rateLimit: { kind, rps: 2, retryAfter: true } });
    const replies = await Promise.all(
      Array.from({ length: 12 }, () => fetch(`${simulator.url}/api/v3/masterchainInfo`)),
    );
    const refused = replies.filter((reply) => reply.status === 429);
    expect(refused.length).toBeGreaterThanOrEqual(8);
    expect(Number(refused[0]?.headers.get('retry-after'))).toBe(1);
    const bodies = new Set(await Promise.all(refused.map((reply) => reply.text())));
    expect(bodies).toEqual(
      new Set([
        '{"ok":false,"result":"Ratelimit exceed","code":429}',
        '{"ok":false,"code":429,"error":"Ratelimit exceeded"}',
      ]),
    );
    expect(simulator.stats.byStatus.get(429)).toBe(refused.length);
    expect(simulator.stats.arrivals().length).toBe(12);
    await simulator.close();
  });
});

test('a token bucket saves up to its burst, a sliding window never lets twice the rate through', () => {
  const count = (kind: RateLimit['kind']): number => {
    const limiter = createRateLimiter({ kind, rps: 10 });
    const times = [...Array.from({ length: 10 }, () => 9_999), ...Array.from({ length: 10 }, () => 10_001)];
    return times.filter((at) => limiter.admit(at) === 0).length;
  };
  expect(count('fixed-window')).toBe(20);
  expect(count('sliding-window')).toBe(10);
});

describe('keys', () => {
  test('unknown ones are 401, those of another network 403, by header or by query', async () => {
    const keys = { good: 'simulated', foreign: 'mainnet' };
    const simulator = await startSimulator({ ...SIZE, keys });
    const status = async (key: string): Promise<[number, string]> => {
      const byHeader = await fetch(`${simulator.url}/api/v3/masterchainInfo`, {
        headers: { 'X-API-Key': key },
      });
      const byQuery = await fetch(`${simulator.url}/api/v3/masterchainInfo?api_key=${key}`);
      expect(byQuery.status).toBe(byHeader.status);
      return [
        byHeader.status,
        byHeader.status === 200 ? '' : ((await byHeader.json()) as { error: string }).error,
      ];
    };
    expect(await status('good')).toEqual([200, '']);
    expect(await status('none')).toEqual([401, 'API key does not exist']);
    expect(await status('foreign')).toEqual([403, 'Network not allowed']);
    expect((await fetch(`${simulator.url}/api/v3/masterchainInfo`)).status).toBe(200);
    await simulator.close();
  });

  test('without one the anonymous limit counts, with one the other', async () => {
    const simulator = await startSimulator({
      ...SIZE,
      keys: { good: 'simulated' },
      rateLimit: { kind: 'sliding-window', rps: 100 },
      anonymous: { kind: 'sliding-window', rps: 1 },
    });
    const ask = async (headers: Record<string, string>): Promise<number> =>
      (await fetch(`${simulator.url}/api/v3/masterchainInfo`, { headers })).status;
    expect([await ask({}), await ask({})]).toEqual([200, 429]);
    const keyed = await Promise.all(Array.from({ length: 10 }, () => ask({ 'x-api-key': 'good' })));
    expect(new Set(keyed)).toEqual(new Set([200]));
    await simulator.close();
  });
});

test('the latency comes after the limiter: a slow response does not slow the counting', async () => {
  const simulator = await startSimulator({
    ...SIZE,
    latencyMs: [80, 120],
    rateLimit: { kind: 'sliding-window', rps: 3 },
  });
  const begin = performance.now();
  const replies = await Promise.all(Array.from({ length: 5 }, () => fetch(`${simulator.url}/healthcheck`)));
  expect(performance.now() - begin).toBeGreaterThan(75);
  expect(replies.map((reply) => reply.status).toSorted()).toEqual([200, 200, 200, 429, 429]);
  await simulator.close();
});
