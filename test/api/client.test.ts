import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { systemClock } from '../../src/clock.ts';
import type { Attempt } from '../../src/api/attempt.ts';
import { listOf } from '../../src/api/read-response.ts';
import {
  failureOf,
  json,
  startFakeApi,
  text,
  freeBudget,
  type FakeApi,
  type HttpResponse,
} from './fake-api.ts';
import { NotFoundError, RequestRefusedError, UsageError } from '../../src/errors.ts';

let api: FakeApi;
beforeAll(async () => {
  api = await startFakeApi();
});
afterAll(() => api.close());

const blocks = { path: '/api/v3/blocks', parse: listOf('blocks'), priority: 'backfill' } as const;

test('a response comes parsed, with its request and its cost', async () => {
  api.answer(json({ blocks: [{ seqno: 1 }] }, 200, { 'x-api-version': '1.3.0' }));
  const budget = freeBudget();
  const exchange = await api.client({ budget }).get({ ...blocks, params: { limit: 2, shard: ['a', 'b'] } });
  expect(exchange).toEqual({
    value: [{ seqno: 1 }],
    request: { path: '/api/v3/blocks', query: 'limit=2&shard=a&shard=b', limit: 2 },
    status: 200,
    bytes: 24,
    ms: expect.any(Number) as number,
    attempts: 1,
    apiVersion: '1.3.0',
  });
  expect(api.seen[0]).toMatchObject({ method: 'GET', url: '/api/v3/blocks?limit=2&shard=a&shard=b' });
  expect(budget).toMatchObject({ taken: 1, reported: ['ok'] });
});

test.each([
  ['gzip', gzipSync],
  ['br', brotliCompressSync],
  ['deflate', deflateSync],
])('a body in %s is decoded, and its bytes are counted as on the wire', async (encoding, encode) => {
  const body = encode(JSON.stringify({ blocks: [{ root_hash: 'ü'.repeat(100_000) }] }));
  api.answer(text(body, 200, { 'content-encoding': encoding }));
  const exchange = await api.client().get(blocks);
  expect(exchange.value).toEqual([{ root_hash: 'ü'.repeat(100_000) }]);
  expect(exchange.bytes).toBe(body.byteLength);
  expect(api.seen[0]?.headers['accept-encoding']).toContain(encoding);
});

test('bodies without a declared length arrive whole, one after another', async () => {
  const bodies = Array.from({ length: 3 }, (_, index) => ({ blocks: [String(index).repeat(300_000)] }));
  api.answer(
    ...bodies.map((body): HttpResponse => (_request, response) => {
      const sent = JSON.stringify(body);
      for (let at = 0; at < sent.length; at += 50_000) response.write(sent.slice(at, at + 50_000));
      response.end();
    }),
  );
  const client = api.client();
  for (const { blocks: value } of bodies) expect((await client.get(blocks)).value).toEqual(value);
});

test('a path before /api belongs to the base URL', async () => {
  api.answer(json({ blocks: null }));
  const exchange = await api.client({ baseUrl: `${api.baseUrl}/mirror/` }).get(blocks);
  expect(api.seen[0]?.url).toBe('/mirror/api/v3/blocks');
  expect(exchange.request.path).toBe('/api/v3/blocks');
});

test.each(['toncenter.com', 'ftp://x', 'https://user:secret@x', 'https://x/?api_key=secret'])(
  'the base URL %s is refused without repeating it',
  (baseUrl) => {
    expect(() => api.client({ baseUrl })).toThrow(UsageError);
    expect(() => api.client({ baseUrl })).toThrow(/^(?!.*secret)/);
  },
);

test('a thousand addresses fit into one request', async () => {
  api.answer(json({ accounts: [] }));
  const address = Array.from({ length: 1000 }, (_, i) => `0:${String(i).padStart(64, '0')}`);
  await api.client().get({
    path: '/api/v3/accountStates',
    params: { address },
    parse: listOf('accounts'),
    priority: 'refresh',
  });
  expect(api.seen[0]?.url.split('address=')).toHaveLength(1001);
});

test('connections are kept for the next request', async () => {
  const ports = new Set<number | undefined>();
  api.answer((request, response) => {
    ports.add(request.socket.remotePort);
    response.end('{"blocks":[]}');
  });
  const client = api.client();
  for (let i = 0; i < 20; i += 1) await client.get(blocks);
  expect(ports.size).toBeLessThanOrEqual(2);
});

test('a missing route and a refusal are thrown at once', async () => {
  api.answer(json({ error: 'masterchain block 7 not found' }, 404));
  expect(await failureOf(api.client().get(blocks))).toBeInstanceOf(NotFoundError);
  expect(api.seen).toHaveLength(1);
  api.answer(json({ error: 'limit is not allowed: 5000 > 1000' }, 500));
  expect(await failureOf(api.client().get(blocks))).toBeInstanceOf(RequestRefusedError);
  expect(api.seen).toHaveLength(1);
});

test('counters tell requests, refusals, retries and bytes by priority', async () => {
  const client = api.client();
  api.answer(json({}, 429), json({}, 502), json({ blocks: [] }));
  await client.get(blocks);
  api.answer(json({ blocks: [] }));
  await client.get({ ...blocks, priority: 'tail' });
  expect(client.stats.byPriority.backfill).toEqual({
    requests: 3,
    refused: 1,
    retries: 2,
    bytes: 2 + 2 + 13,
  });
  expect(client.stats.byPriority.tail).toEqual({ requests: 1, refused: 0, retries: 0, bytes: 13 });
  expect(client.stats).toMatchObject({ requests: 4, refused: 1, retries: 2, bytes: 30 });
});

test('a warning a minute says how many attempts at all requests have failed since the one before', async () => {
  let now = 0;
  const client = api.client({ clock: { ...systemClock, monotonic: () => now } });
  const retries = () =>
    api.log.filter((line) => line['level'] === 40).map((line) => [line['attempt'], line['retries']]);
  api.answer(json({}, 503), json({}, 503), json({}, 503), json({ blocks: [] }));
  await client.get(blocks);
  expect(retries()).toEqual([[undefined, 1]]);
  now = 60_000;
  // It also forgets the lines above.
  api.answer(json({}, 503), json({ blocks: [] }));
  await client.get(blocks);
  expect(retries()).toEqual([[undefined, 3]]);
});

test('each attempt is one debug record and one onExchange, each retry a warning', async () => {
  api.answer(json({ error: 'busy' }, 503), json({ blocks: [] }));
  const attempts: Attempt[] = [];
  await api.client({ onExchange: (attempt) => attempts.push(attempt) }).get(blocks);
  const common = { path: '/api/v3/blocks', priority: 'backfill' };
  expect(attempts).toMatchObject([
    { ...common, status: 503, attempt: 1, bytes: 16 },
    { ...common, status: 200, attempt: 2, bytes: 13 },
  ]);
  expect(api.log).toMatchObject([
    { level: 20, msg: 'request', ...common, status: 503, attempt: 1, ms: expect.any(Number) as number },
    {
      level: 40,
      msg: 'request failed, retrying',
      ...common,
      retries: 1,
      pauseMs: 0,
      reason: expect.stringContaining('busy') as string,
    },
    { level: 20, msg: 'request', ...common, status: 200, attempt: 2 },
  ]);
});

test('numbers beyond 2^53 and NUL arrive in a form that can be stored', async () => {
  api.answer(text(String.raw`{"blocks":[{"n":9223372036854775807,"comment":"a\u0000b"}]}`));
  expect((await api.client().get(blocks)).value).toEqual([{ n: 9223372036854775807n, comment: 'ab' }]);
});

const KEY = 'k3y-0123456789abcdef';

test('the key is in its header and nowhere else', async () => {
  const client = api.client({ apiKey: KEY, attempts: 2 });
  const found: unknown[] = [];
  const responses = [
    json({ blocks: [] }),
    json({ ok: false, code: 401, error: `API key ${KEY} does not exist` }, 401),
    json({ error: `oops ${KEY}` }, 500),
    text(`<html><title>${KEY}</title></html>`, 502),
    text(`not json ${KEY}`),
    json({ blocks: KEY }),
    json({ blocks: [] }, 200, { 'x-api-version': `1.3.0 for ${KEY}` }),
    json({ blocks: [] }, 200, { 'x-api-version': Buffer.from(`user:${KEY}`).toString('base64') }),
    json({ blocks: [] }, 200, { 'content-encoding': KEY }),
  ];
  for (const response of responses) {
    api.answer(response);
    const result = await client.get({ ...blocks, params: { limit: 1 } }).catch((error: unknown) => error);
    for (const { headers, url, body } of api.seen) {
      expect(headers['x-api-key']).toBe(KEY);
      expect(`${url}${body}`).not.toContain(KEY);
    }
    found.push(everything(result), ...api.log.map(everything));
  }
  api.answer(json({ ok: true, result: 1 }));
  found.push(
    everything(await client.call({ method: 'm', parse: (body) => z.number().parse(body), priority: 'tail' })),
  );
  expect(found.length).toBeGreaterThan(12);
  const code = Buffer.from(`user:${KEY}`).toString('base64').slice(8, -4);
  for (const spelling of [KEY, code]) expect(found.join('\n')).not.toContain(spelling);
});

test('a key in the path of the base URL is in no error and no log line', async () => {
  const client = api.client({ baseUrl: `${api.baseUrl}/s3cr3tPath9`, attempts: 2 });
  api.answer(
    text('<title>Cannot GET /s3cr3tPath9/api/v3/blocks</title>', 500),
    text('Cannot GET /s3cr3tPath9/api/v3/blocks', 404),
  );
  const error = await client.get(blocks).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(Error);
  expect([error, ...api.log].map(everything).join()).not.toContain('s3cr3tPath9');
});

test('a version is cut to a usual length, and a cut leaves no part of a key', async () => {
  const client = api.client({ apiKey: KEY });
  const versionOf = async (version: string) => {
    api.answer(json({ blocks: [] }, 200, { 'x-api-version': version }));
    return (await client.get(blocks)).apiVersion;
  };
  expect(await versionOf('v1.2.4-rc.1+7e31f2c')).toBe('v1.2.4-rc.1+7e31f2c');
  expect(await versionOf('1'.repeat(5000))).toBe('1'.repeat(100));
  expect(await versionOf(`${'1'.repeat(90)}${KEY}`)).toBe(`${'1'.repeat(90)}[key]`);
});

test('after the server refuses a limit, the limit that it names is used', async () => {
  const client = api.client();
  api.answer(json({ error: 'limit is not allowed: 1000 > 100' }, 422), json({ blocks: [1] }));
  const first = await client.get({ ...blocks, params: { limit: 1000 } });
  expect(first.request.limit).toBe(100);
  await client.get({ ...blocks, params: { limit: 500 } });
  await client.get({ ...blocks, params: { limit: 20 } });
  expect(api.seen.map(({ url }) => /limit=(\d+)/.exec(url)?.[1])).toEqual(['1000', '100', '100', '20']);
});

test('an endpoint that the server lacks is reported once, and requested again after an hour', async () => {
  let now = 0;
  const client = api.client({ clock: { ...systemClock, monotonic: () => now } });
  api.answer(json({ error: 'internal server error: Cannot GET /api/v3/blocks' }, 500));
  for (const at of [0, 1000, 3_599_000, 3_601_000]) {
    now = at;
    expect(await failureOf(client.get(blocks))).toMatchObject({ code: 'no_endpoint' });
  }
  expect(api.seen).toHaveLength(2);
  const warnings = () => api.log.filter(({ level }) => level === 40);
  expect(warnings()).toHaveLength(1);
  // The route comes, and is gone again: that is reported again.
  now = 20_000_000;
  api.answer(json({ blocks: [] }), json({ error: 'Cannot GET blocks' }, 500));
  await client.get(blocks);
  await failureOf(client.get(blocks));
  now += 700_000;
  await failureOf(client.get(blocks));
  expect(warnings().filter(({ msg }) => String(msg).includes('endpoint not found'))).toHaveLength(1);
});

describe('an endpoint that has answered', () => {
  const missing: [string, HttpResponse][] = [
    ['500 of v3', json({ error: 'internal server error: Cannot GET /api/v3/blocks' }, 500)],
    ['404 of a framework', text('Cannot GET /api/v3/blocks', 404)],
    [
      '404 with a page',
      text('<!DOCTYPE html><pre>Cannot GET /api/v3/blocks</pre>', 404, { 'content-type': 'text/html' }),
    ],
  ];
  const good = json({ blocks: [1] });

  test.each(missing)('is requested again at once after one missing response: %s', async (_, answer) => {
    const client = api.client();
    api.answer(good, answer, good);
    await client.get(blocks);
    expect(await client.get(blocks)).toMatchObject({ value: [1], attempts: 2 });
    expect(client.lacks(blocks.path)).toBe(false);
  });

  test('is believed to be gone after ten minutes of missing responses', async () => {
    let now = 0;
    const client = api.client({ clock: { ...systemClock, monotonic: () => now } });
    const [[, gone]] = missing as [[string, HttpResponse]];
    api.answer(good);
    await client.get(blocks);
    api.answer(gone);
    const failsAt = async (at: number) => {
      now = at;
      return failureOf(client.get(blocks));
    };
    expect(await failsAt(1000)).toMatchObject({ code: 'api_failed', retryable: true });
    expect(await failsAt(590_000)).toMatchObject({ code: 'api_failed' });
    expect(client.lacks(blocks.path)).toBe(false);
    expect(await failsAt(602_000)).toMatchObject({ code: 'no_endpoint' });
    expect(client.lacks(blocks.path)).toBe(true);
    // The route comes back with a deployment, and is a known route then.
    now = 700_000;
    api.answer(good, gone, good);
    await client.get(blocks);
    expect(await client.get(blocks)).toMatchObject({ attempts: 2 });
  });
});

test('without a key no header is sent', async () => {
  api.answer(json({ blocks: [] }));
  await api.client().get(blocks);
  expect(api.seen[0]?.headers).not.toHaveProperty('x-api-key');
});

test('a key that no header can hold is refused without repeating it', () => {
  expect(() => api.client({ apiKey: 'secret\nline' })).toThrow(/^(?!.*secret).*key/);
});

/** Everything that an error or object shows, with its causes. */
function everything(value: unknown): string {
  if (!(value instanceof Error)) return JSON.stringify(value);
  const { message, stack = '', cause } = value;
  return [message, stack, JSON.stringify(value), cause === undefined ? '' : everything(cause)].join('\n');
}
