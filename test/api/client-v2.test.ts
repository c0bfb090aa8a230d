import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { ApiFailedError } from '../../src/api/response/api-failed-error.ts';
import {
  AuthError,
  BadResponseError,
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

test.each([
  ['without an id', { ok: true, result: [1], '@extra': 'x' }],
  ['with an id of JSON-RPC', { ok: true, result: [1], jsonrpc: '2.0', id: 'other' }],
])('a response %s is taken', async (_name, body) => {
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

  test('what is no envelope, or no result of the method, is a bad response', async () => {
    for (const body of [{ transactions: [] }, { ok: true, result: ['x'] }]) {
      api.answer(json(body));
      expect(await failureOf(api.client().call(call))).toBeInstanceOf(BadResponseError);
    }
  });
});
