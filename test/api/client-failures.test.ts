import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { listOf } from '../../src/api/read-response.ts';
import { systemClock } from '../../src/clock.ts';
import {
  ApiTimeoutError,
  ApiUnavailableError,
  BadResponseError,
  DatabaseUnavailableError,
  RateLimitedError,
  RequestTooLargeError,
} from '../../src/errors.ts';
import { freePort } from '../support/free-port.ts';
import {
  failureOf,
  freeBudget,
  json,
  startFakeApi,
  text,
  type HttpResponse,
  type FakeApi,
} from './fake-api.ts';

let api: FakeApi;
beforeAll(async () => {
  api = await startFakeApi();
});
afterAll(() => api.close());

const blocks = { path: '/api/v3/blocks', parse: listOf('blocks'), priority: 'backfill' } as const;
const good = json({ blocks: [1] });
const html = text('<html><head><title>502 Bad Gateway</title></head></html>', 502, {
  'content-type': 'text/html',
});
const reset: HttpResponse = (request) => request.socket.destroy();
const resetInBody: HttpResponse = (request, response) => {
  response.writeHead(200, { 'content-length': '100' });
  response.write('{"blocks":[', () => request.socket.destroy());
};
const shortBody: HttpResponse = (_request, response) => {
  response.writeHead(200, { 'content-length': '100', connection: 'close' });
  response.write('{"blocks":[1]}');
  response.socket?.end();
};
const cutChunks: HttpResponse = (_request, response) => {
  response.writeHead(200);
  response.write('{"blocks":[1]}', () => response.socket?.end());
};
const latin1: HttpResponse = (_request, response) => {
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(Buffer.from('{"blocks":["\u00e9"]}', 'latin1'));
};
const never: HttpResponse = () => undefined;
const slowBody: HttpResponse = (_request, response) => {
  response.writeHead(200, { 'content-length': '100' });
  response.write('{"blocks":[');
};

describe('transient failures are retried', () => {
  test.each([
    ['an HTML page of the gateway', html],
    ['503', text('', 503)],
    ['504', text('<h1>504 Gateway Time-out</h1>', 504)],
    ['542', json({ ok: false, error: 'no workers available', code: 542 }, 542)],
    ['a 500 of the API', json({ error: 'failed query' }, 500)],
    ['a timeout of the server', json({ error: 'timeout: context deadline exceeded' }, 500)],
    ['a 429 as recorded', json({ ok: false, result: 'Ratelimit exceed', code: 429 }, 429)],
    ['a 429 as specified', json({ ok: false, code: 429, error: 'Ratelimit exceeded' }, 429)],
    ['a 200 that is a page', text('<html><title>Maintenance</title></html>')],
    ['cut JSON', text('{"blocks":[{"seqno":1},')],
    ['an empty 200', text('')],
    ['bytes that are not UTF-8', latin1],
    ['a list of another endpoint', json({ transactions: [] })],
    ['an error with status 200', json({ error: 'x' })],
    ['a cut gzip', text(gzipSync('{"blocks":[]}').subarray(0, 20), 200, { 'content-encoding': 'gzip' })],
    ['an unknown coding', text('x', 200, { 'content-encoding': 'snappy' })],
    ['a redirect', text('', 302, { location: 'https://elsewhere.example/' })],
    ['a connection that is closed unanswered', reset],
    ['a connection that is reset inside the body', resetInBody],
    ['a body shorter than its content-length', shortBody],
    ['a chunked body without an end', cutChunks],
  ])('%s', async (_name, answer) => {
    api.answer(answer, good);
    const exchange = await api.client().get(blocks);
    expect(exchange).toMatchObject({ value: [1], attempts: 2 });
    expect(api.seen).toHaveLength(2);
  });

  test('a response that never comes, or comes too slowly', async () => {
    for (const answer of [never, slowBody]) {
      api.answer(answer, good);
      expect(await api.client({ timeoutMs: 300 }).get(blocks)).toMatchObject({ value: [1], attempts: 2 });
    }
  });
});

test('a response waits for a slot in memory as long as it takes: its deadline is suspended', async () => {
  api.answer(good);
  const client = api.client({ timeoutMs: 300 });
  const held = await Promise.all(
    Array.from({ length: 8 }, async () => {
      const flight = client.inFlight.open('backfill');
      await client.get({ ...blocks, flight });
      return flight;
    }),
  );
  const page = (priority: 'backfill' | 'repair') => {
    const flight = client.inFlight.open(priority);
    return client.get({ ...blocks, priority, flight }).finally(() => flight.end());
  };
  const [waiting, urgent] = [page('backfill'), page('repair')];
  const order: string[] = [];
  const ends = [
    waiting.then(({ ms }) => order.push(ms < 300 ? 'waiting' : 'its wait was counted')),
    urgent.then(() => order.push('urgent')),
  ];
  await systemClock.sleep(600);
  expect(order).toEqual([]);
  // A caller that holds a page may have to send another request before it commits.
  await client.get(blocks);
  expect(order).toEqual([]);
  held[0]!.end();
  await Promise.all(ends);
  expect(order).toEqual(['urgent', 'waiting']);
  for (const flight of held) flight.end();
});

describe('permanent failures are thrown', () => {
  test('as unavailable after six attempts, each of which took a slot of the budget', async () => {
    api.answer(html);
    const budget = freeBudget();
    const error = await failureOf(api.client({ budget }).get(blocks));
    expect(error).toBeInstanceOf(ApiUnavailableError);
    expect(error).toMatchObject({
      message: 'GET /api/v3/blocks was answered 502: an HTML page "502 Bad Gateway"',
    });
    expect(api.seen).toHaveLength(6);
    expect(budget.taken).toBe(6);
  });

  test('after the number of attempts that is set', async () => {
    api.answer(html);
    await failureOf(api.client({ attempts: 2 }).get(blocks));
    expect(api.seen).toHaveLength(2);
  });

  test('as a bad response with endpoint and the first issue, never the whole ZodError', async () => {
    api.answer(json({ blocks: Array.from({ length: 50 }, () => 'x') }));
    const parse = (body: unknown) => z.object({ blocks: z.array(z.number()) }).parse(body);
    const error = await failureOf(api.client().get({ ...blocks, parse }));
    expect(error).toBeInstanceOf(BadResponseError);
    expect(String(error)).toContain("GET /api/v3/blocks: the response is not the endpoint's: blocks.0: ");
    expect(String(error).length).toBeLessThan(250);
    expect(error).not.toHaveProperty('cause');
    expect(api.seen).toHaveLength(6);
  });

  test('as a bad response if the body is cut off, even with unlimited attempts', async () => {
    api.answer(resetInBody);
    const error = await failureOf(api.client({ attempts: Infinity }).get(blocks));
    expect(error).toBeInstanceOf(BadResponseError);
    expect(String(error)).toContain('GET /api/v3/blocks: the response was cut off');
    expect(api.seen).toHaveLength(6);
  });

  test('as a timeout after the second one, of the server or of the client, so that the page is halved', async () => {
    const timeout = json({ error: 'timeout: context deadline exceeded' }, 500);
    for (const answers of [[timeout], [never], [never, html, slowBody], [timeout, never]]) {
      api.answer(...answers);
      const client = api.client({ timeoutMs: 300, attempts: Infinity });
      expect(await failureOf(client.get(blocks))).toBeInstanceOf(ApiTimeoutError);
      expect(api.seen).toHaveLength(Math.max(2, answers.length));
    }
  });

  test('as unavailable if no server listens, with the reason', async () => {
    const baseUrl = `http://127.0.0.1:${await freePort()}`;
    const error = await failureOf(api.client({ baseUrl, attempts: 2 }).get(blocks));
    expect(error).toBeInstanceOf(ApiUnavailableError);
    expect(String(error)).toMatch(/GET \/api\/v3\/blocks: no response from .*ECONNREFUSED/);
  });
});

describe('429 and Retry-After', () => {
  test('tell the budget at once, with the pause if the server named one', async () => {
    const budget = freeBudget();
    api.answer(
      json({}, 429),
      json({}, 429, { 'retry-after': '0.01' }),
      text('', 503, { 'retry-after': '0' }),
      good,
    );
    await api.client({ budget }).get(blocks);
    expect(budget.reported).toEqual([undefined, 10, 0, 'ok']);
  });

  test.each([429, 500, 503])('%i: the budget waits for the pause, and the log says so', async (status) => {
    api.answer(json({}, status, { 'retry-after': '0.15' }), good);
    const budget = freeBudget();
    await api.client({ budget }).get(blocks);
    expect(budget.reported).toEqual([150, 'ok']);
    expect(budget.taken).toBe(2);
    expect(api.log).toContainEqual(
      expect.objectContaining({ pauseMs: 150, msg: 'request failed, retrying' }),
    );
  });

  test('are thrown with the pause after the last attempt', async () => {
    api.answer(json({}, 429, { 'retry-after': '2' }));
    const error = await failureOf(api.client({ attempts: 1 }).get(blocks));
    expect(error).toBeInstanceOf(RateLimitedError);
    expect(error).toMatchObject({ retryAfterMs: 2000 });
  });
});

describe('an aborted signal', () => {
  const reason = new Error('enough');

  test('ends a running request at once with its reason, without another attempt', async () => {
    const stop = new AbortController();
    api.answer(() => stop.abort(reason));
    expect(await failureOf(api.client().get({ ...blocks, signal: stop.signal }))).toBe(reason);
    await systemClock.sleep(20);
    expect(api.seen).toHaveLength(1);
  });

  test('ends a running body with its reason, and is not mistaken for a broken connection', async () => {
    const stop = new AbortController();
    const budget = freeBudget();
    api.answer(slowBody);
    const result = failureOf(api.client({ budget, attempts: 1 }).get({ ...blocks, signal: stop.signal }));
    await expect.poll(() => budget.reported).toContain('ok');
    stop.abort(reason);
    expect(await result).toBe(reason);
    expect(api.seen).toHaveLength(1);
  });

  test('ends a wait between attempts', async () => {
    const stop = new AbortController();
    api.answer(json({}, 502));
    const sleep = (_: number, signal: AbortSignal | undefined) => systemClock.sleep(60_000, signal);
    const client = api.client({ clock: { ...systemClock, sleep } });
    const result = failureOf(client.get({ ...blocks, signal: stop.signal }));
    await expect.poll(() => api.seen).toHaveLength(1);
    stop.abort(reason);
    expect(await result).toBe(reason);
  });

  test('ends a wait in the queue and in the budget', async () => {
    const stop = new AbortController();
    const take = (_priority: unknown, signal: AbortSignal) => systemClock.sleep(60_000, signal);
    const client = api.client({ budget: { ...freeBudget(), take } });
    const results = [1, 2].map(() => failureOf(client.get({ ...blocks, signal: stop.signal })));
    setTimeout(() => stop.abort(reason), 20);
    expect(await Promise.all(results)).toEqual(results.map(() => reason));
  });

  test('that was aborted before sends nothing', async () => {
    api.answer(good);
    expect(await failureOf(api.client().get({ ...blocks, signal: AbortSignal.abort(reason) }))).toBe(reason);
    expect(await failureOf(api.client({ signal: AbortSignal.abort(reason) }).get(blocks))).toBe(reason);
    expect(api.seen).toHaveLength(0);
  });

  test('of the client, or its close, ends everything', async () => {
    api.answer(never);
    const stop = new AbortController();
    const stopped = failureOf(api.client({ signal: stop.signal }).get(blocks));
    const client = api.client();
    const closed = failureOf(client.get(blocks));
    await expect.poll(() => api.seen).toHaveLength(2);
    stop.abort(reason);
    await client.close();
    expect(await stopped).toBe(reason);
    expect(await closed).toMatchObject({ name: 'AbortError' });
  });
});

test('an error of the budget itself reaches the caller at once', async () => {
  const error = new DatabaseUnavailableError('away');
  api.answer(good);
  const budget = freeBudget();
  expect(
    await failureOf(api.client({ budget: { ...budget, take: () => Promise.reject(error) } }).get(blocks)),
  ).toBe(error);
  expect(
    await failureOf(
      api.client({ budget: { ...budget, succeeded: () => Promise.reject(error) } }).get(blocks),
    ),
  ).toBe(error);
  expect(api.seen).toHaveLength(1);
});

describe('a body that would exhaust the memory', () => {
  const bomb = (member: string) => gzipSync(`{"${member}":[${'{},'.repeat(3_000_000)}{}]}`);
  const zipped = (body: Buffer) => text(body, 200, { 'content-encoding': 'gzip' });
  const head = { ...blocks, path: '/api/v3/masterchainInfo', parse: (body: unknown) => body } as const;

  test('of an endpoint with one known thing is ended while it is decoded, and requested again', async () => {
    api.answer(zipped(bomb('last')), json({ last: 1 }));
    expect((await api.client().get(head)).value).toEqual({ last: 1 });
    api.answer(zipped(gzipSync(' '.repeat(2 ** 20))));
    expect(await failureOf(api.client({ attempts: 1 }).get(head))).toBeInstanceOf(BadResponseError);
  });

  test('of a list with far more values than rows have is never parsed: a smaller page is requested', async () => {
    api.answer(zipped(bomb('blocks')));
    const failure = await failureOf(api.client().get({ ...blocks, params: { limit: 1000 } }));
    expect(failure).toBeInstanceOf(RequestTooLargeError);
    expect(String(failure)).toContain('values');
    expect(api.seen).toHaveLength(1);
  });

  test('of few rows may have fewer bytes than one of many', async () => {
    const large = gzipSync(`{"blocks":["${'x'.repeat(2 ** 25 + 2 ** 20)}"]}`);
    api.answer(zipped(large));
    expect(await failureOf(api.client().get({ ...blocks, params: { limit: 1 } }))).toBeInstanceOf(
      RequestTooLargeError,
    );
    expect((await api.client().get({ ...blocks, params: { limit: 1000 } })).value).toHaveLength(1);
  });
});

test('a body with a repeated member is a bad response, even if its name is escaped', async () => {
  for (const body of [
    '{"blocks":[1],"blocks":[]}',
    '{"blocks":[1],"bl\\u006fcks":[2]}',
    '{"end":1,"blocks":[],"end":1}',
  ]) {
    api.answer(text(body), good);
    expect((await api.client().get(blocks)).attempts).toBe(2);
  }
  // The members of a free-form value are not read by name.
  api.answer(text('{"blocks":[{"decoded":{"a":1,"a":2}}]}'));
  expect((await api.client().get(blocks)).value).toEqual([{ decoded: { a: 2 } }]);
});
