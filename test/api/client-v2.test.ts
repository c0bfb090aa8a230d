import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import {
  ApiFailedError,
  AuthError,
  BadResponseError,
  NoEndpointError,
  NotFoundError,
  RateLimitedError,
  RequestRefusedError,
} from '../../src/errors.ts';
import { failureOf, json, startFakeApi, type FakeApi } from './fake-api.ts';

let api: FakeApi;
beforeAll(async () => {
  api = await startFakeApi();
});
afterAll(() => api.close());

const call = {
  method: 'getTransactions',
  params: { address: '0:AB', limit: 2, archival: true, to_lt: undefined, lt: '60000000000001' },
  parse: (result: unknown) => z.array(z.number()).parse(result),
  priority: 'refresh',
} as const;
const query = 'address=0%3AAB&limit=2&archival=true&lt=60000000000001';

test('a method is called over GET', async () => {
  api.answer(json({ ok: true, result: [1], '@extra': '1:2:3:c' }));
  const exchange = await api.client().call(call);
  expect(exchange).toMatchObject({ value: [1], request: { path: '/api/v2/getTransactions', query } });
  expect(api.seen[0]).toMatchObject({ method: 'GET', url: `/api/v2/getTransactions?${query}` });
});

test('a method without its own route is called over JSON-RPC, and at once the next time', async () => {
  const client = api.client();
  const [missing, found] = [
    json({ error: 'internal server error: Cannot GET /api/v2/getTransactions' }, 500),
    json({ ok: true, result: [1] }),
  ];
  api.answer(missing, found, found);
  const proof = { ...call, params: { ...call.params, workchain: '-1', seqno: '7' } };
  expect(await client.call(proof)).toMatchObject({
    value: [1],
    request: { path: '/api/v2/getTransactions' },
  });
  expect(api.seen.map(({ method, url }) => `${method} ${url.split('?')[0]}`)).toEqual([
    'GET /api/v2/getTransactions',
    'POST /api/v2/jsonRPC',
  ]);
  expect(api.seen[1]?.headers['content-type']).toBe('application/json');
  expect(JSON.parse(api.seen[1]?.body ?? '')).toEqual({
    jsonrpc: '2.0',
    id: 1,
    method: 'getTransactions',
    params: { address: '0:AB', limit: 2, archival: true, lt: '60000000000001', workchain: -1, seqno: 7 },
  });
  // That JSON-RPC answered does not mean that the server has the route.
  expect(await client.call(call)).toMatchObject({ value: [1], attempts: 1 });
  expect(api.seen.map(({ method }) => method)).toEqual(['GET', 'POST', 'POST']);
});

test('a method without any route is reported missing, once for each route', async () => {
  const client = api.client();
  api.answer(
    json({ error: 'Cannot GET /api/v2/getTransactions' }, 500),
    json({ error: 'Cannot POST /api/v2/jsonRPC' }, 500),
  );
  for (let again = 0; again < 2; again += 1)
    expect(await failureOf(client.call(call))).toBeInstanceOf(NoEndpointError);
  expect(api.seen).toHaveLength(2);
});

test.each([
  ['without an id', { ok: true, result: [1], '@extra': 'x' }],
  ['with an id of JSON-RPC', { ok: true, result: [1], jsonrpc: '2.0', id: 'other' }],
])('a response with %s is accepted', async (_name, body) => {
  api.answer(json(body));
  expect(await api.client().call(call)).toMatchObject({ value: [1] });
});

describe('a failure', () => {
  test.each([
    [404, 'transaction not found', NotFoundError, 1],
    [422, 'lt and hash should be used together', RequestRefusedError, 1],
    [401, 'API key does not exist', AuthError, 1],
    [429, 'Ratelimit exceeded', RateLimitedError, 6],
    [542, 'no workers available', ApiFailedError, 6],
    [500, 'LITE_SERVER_UNKNOWN: cannot locate transaction in block', ApiFailedError, 6],
  ])(
    'an envelope of %d is the same error with its own status and with 200',
    async (code, error, kind, attempts) => {
      for (const status of [code, 200]) {
        api.answer(json({ ok: false, error, code, '@extra': '_' }, status));
        const failure = await failureOf(api.client().call(call));
        expect(failure).toBeInstanceOf(kind);
        expect(String(failure)).toContain(`${code}: ${error}`);
        expect(api.seen).toHaveLength(attempts);
      }
    },
  );

  test('a body that is no envelope, or no result of the method, is a bad response', async () => {
    for (const body of [{ transactions: [] }, { ok: true, result: ['x'] }]) {
      api.answer(json(body));
      expect(await failureOf(api.client().call(call))).toBeInstanceOf(BadResponseError);
    }
  });
});
