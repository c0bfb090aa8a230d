import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { errorOfStatus } from '../../../src/api/read-response.ts';
import {
  ApiFailedError,
  ApiTimeoutError,
  ApiUnavailableError,
  AuthError,
  BadResponseError,
  LimitRefusedError,
  NoEndpointError,
  NotFoundError,
  RateLimitedError,
  RequestRefusedError,
  RequestTooLargeError,
  type EtlError,
} from '../../../src/errors.ts';
import { corpusFolder, hasCorpus, NO_CORPUS } from '../../support/shared-data.ts';

function errorOf(status: number, body: string, path = '/api/v3/transactions', apiVersion?: string): EtlError {
  const label = `GET ${path}`;
  return errorOfStatus({ status, body, path, label, host: 'toncenter.com', retryAfterMs: 5, apiVersion });
}
const v3 = (error: string) => JSON.stringify({ error });
const html = (title: string) => `<html>\r\n<head><title>${title}</title></head></html>`;

describe('a v3 response', () => {
  test.each([
    [422, v3('failed to decode: schema: error converting value for "limit"'), RequestRefusedError],
    [422, v3('limit is not allowed: 5000 > 1000'), LimitRefusedError],
    [500, v3('limit is not allowed: 5000 > 1000'), LimitRefusedError],
    [500, v3('internal server error: wrong value for sort parameter'), RequestRefusedError],
    [500, v3('timeout: context deadline exceeded'), ApiTimeoutError],
    [500, v3('internal server error: query timeout 3s'), ApiTimeoutError],
    [500, v3('internal server error: canceling statement: query timed out'), ApiTimeoutError],
    [500, v3('failed query transactions: conn closed'), ApiFailedError],
    [500, v3('internal server error: Cannot GET /api/v3/validators/events'), NoEndpointError],
    [500, v3('internal server error: Cannot GET validators/events'), NoEndpointError],
    [500, v3('Cannot POST staking/nominatorPools/pool'), NoEndpointError],
    [404, 'Cannot GET /api/v2/getShards', NoEndpointError],
    [404, '<!DOCTYPE html><pre>Cannot GET /api/v3/blocks</pre>', NoEndpointError],
    [404, '{"code":404,"error":"Not Found"}', NoEndpointError],
    [404, '{"ok":false,"error":"Not Found","code":404}', NoEndpointError],
    [404, '{"detail":"Not Found"}', NoEndpointError],
    [404, v3('page not found'), NoEndpointError],
    [404, v3('not_found'), NoEndpointError],
    [404, '404 page not found\n', NoEndpointError],
    [404, '{"title":"Not Found","status":404,"traceId":"1"}', NoEndpointError],
    [404, '{"message":"no Route matched with those values"}', NoEndpointError],
    [404, '{"error":"Route GET:/api/v3/transactions not found","statusCode":404}', NoEndpointError],
    [404, v3('No handler found for GET /api/v3/transactions'), NoEndpointError],
    [404, '{"ok":false,"error":"unknown method","code":404}', NoEndpointError],
    [
      500,
      '{"error":{"code":-32601,"message":"the method getShards does not exist/is not available"}}',
      NoEndpointError,
    ],
    [410, v3('Gone'), NoEndpointError],
    [405, v3('Method Not Allowed'), NoEndpointError],
    [500, v3('internal server error: Method Not Allowed'), NoEndpointError],
    [501, v3('not implemented'), NoEndpointError],
    [500, v3('cannot get account state of 0:AB'), ApiFailedError],
    [500, v3("can't scan into dest[8]: cannot scan NULL into *string"), ApiFailedError],
    [404, v3('Pool not found'), NotFoundError],
    [404, v3('transaction not found'), NotFoundError],
    [404, v3('masterchain block 99999999 not found'), NotFoundError],
    [404, v3('blocks not found'), NotFoundError],
    [404, v3('account does not exist'), NotFoundError],
    [404, v3('no domain of this wallet was found'), NotFoundError],
    [500, v3('failed to query: column "method" does not exist in jetton_burns'), ApiFailedError],
    [404, html('404 Not Found'), ApiFailedError],
    [402, html('Payment Required'), ApiFailedError],
    [403, html('Just a moment...'), ApiFailedError],
    [401, v3('address of account is required'), RequestRefusedError],
    [401, v3('API key does not exist'), AuthError],
    [401, html('401 Authorization Required'), AuthError],
    [403, v3('Network not allowed'), AuthError],
    [409, v3('not a wallet'), RequestRefusedError],
    [405, '', ApiFailedError],
    [413, html('413 Request Entity Too Large'), RequestTooLargeError],
    [414, html('414 Request-URI Too Large'), RequestTooLargeError],
    [408, '', ApiUnavailableError],
    [429, '{"ok":false,"result":"Ratelimit exceed","code":429}', RateLimitedError],
    [429, '{"ok":false,"code":429,"error":"Ratelimit exceeded"}', RateLimitedError],
    [429, html('Too Many Requests'), RateLimitedError],
    [429, '', RateLimitedError],
    [500, html('500 timeout'), ApiUnavailableError],
    [502, html('502 Bad Gateway'), ApiUnavailableError],
    [503, 'no healthy upstream', ApiUnavailableError],
    [504, html('504 Gateway Time-out'), ApiUnavailableError],
    [542, '{"ok":false,"error":"no workers available","code":542}', ApiFailedError],
    [599, '', ApiUnavailableError],
    [301, '', BadResponseError],
  ])('%d %s is the right error', (status, body, kind) => {
    const error = errorOf(status, body);
    expect(error.constructor).toBe(kind);
    expect(error.message).toMatch(new RegExp(`^GET /api/v3/transactions was answered ${status}: .`));
    expect(error.message).not.toContain('\n');
  });

  test.each(['/api/v3/accountStates', '/api/v3/walletStates', '/api/v3/dns/records'])(
    '422 of %s that names a timeout is a timeout, any other is a refusal',
    (path) => {
      expect(errorOf(422, v3('timeout: context deadline exceeded'), path)).toBeInstanceOf(ApiTimeoutError);
      expect(errorOf(422, v3('address required'), path)).toBeInstanceOf(RequestRefusedError);
    },
  );

  test('422 elsewhere stays a refusal, even if it names a deadline', () => {
    expect(errorOf(422, v3('deadline is no parameter'))).toBeInstanceOf(RequestRefusedError);
  });

  test('a 404 page of the server itself means that it lacks the endpoint, one of a gateway means nothing', () => {
    const page = html('404 Not Found');
    expect(errorOf(404, page, '/api/v3/validators/events', '1.2.10')).toBeInstanceOf(NoEndpointError);
    expect(errorOf(404, page, '/api/v3/validators/events')).toMatchObject({ retryable: true });
  });

  test('a refused limit comes with the number that is allowed', () => {
    expect(errorOf(422, '{"error":"limit is not allowed: 1000 \\u003e 100"}')).toMatchObject({ most: 100 });
  });

  test('an unknown key is reported with the setting and the host', () => {
    expect(errorOf(401, v3('API key does not exist')).hint).toMatch(
      /TONCENTER_API_KEY.*toncenter\.com.*TONCENTER_NETWORK/,
    );
    expect(errorOf(403, v3('Network not allowed')).hint).toMatch(/TONCENTER_API_KEY.*toncenter\.com/);
  });

  test('a 429 carries the pause that the server asked for', () => {
    expect(errorOf(429, '')).toMatchObject({ retryAfterMs: 5, retryable: true });
  });

  test('a query that took too long names no remedy that a user cannot apply', () => {
    expect(errorOf(500, v3('timeout: context deadline exceeded')).hint).toMatch(/try again later/);
    expect(errorOf(500, v3('timeout: context deadline exceeded')).hint).not.toMatch(/page/);
  });

  test('a long body is cut', () => {
    expect(errorOf(500, v3('x'.repeat(10_000))).message.length).toBeLessThan(400);
    expect(errorOf(502, 'y '.repeat(10_000)).message.length).toBeLessThan(400);
  });
});

const corpus = join(corpusFolder, 'errors');

describe.skipIf(!hasCorpus)(`recorded and specified error bodies (${NO_CORPUS} if they are absent)`, () => {
  test('every v2 body is read: its own text, and the class of its code', () => {
    const names = readdirSync(corpus).filter((name) => name.startsWith('v2_'));
    expect(names.length).toBeGreaterThan(0);
    for (const name of names) {
      const file = JSON.parse(readFileSync(join(corpus, name), 'utf8')) as { example?: unknown };
      const body = 'example' in file ? file.example : file;
      if (body === null) continue;
      const { code, error, result } = body as { code: number; error?: string; result?: string };
      const failure = errorOf(code, JSON.stringify(body), '/api/v2/getTransactions');
      expect(failure.constructor, name).toBe(CLASSES[code]);
      expect(failure.message, name).toContain((error ?? result ?? '').slice(0, 40));
    }
  });

  test('every v3 body of the server’s source has the class of its status', () => {
    const file = readFileSync(join(corpus, 'v3_catalogue.json'), 'utf8');
    const { bodies } = JSON.parse(file) as { bodies: Record<string, { error: string }[]> };
    for (const status of [404, 409, 422]) {
      for (const body of bodies[status] ?? []) {
        const expected = /limit is not allowed/.test(body.error) ? LimitRefusedError : CLASSES[status];
        expect(errorOf(status, JSON.stringify(body)).constructor, body.error).toBe(expected);
      }
    }
    for (const body of bodies[401] ?? [])
      expect(errorOf(401, JSON.stringify(body))).toBeInstanceOf(RequestRefusedError);
    for (const { error } of bodies[500] ?? []) {
      expect(errorOf(500, v3(error)).constructor).toBe(
        /deadline/.test(error) ? ApiTimeoutError : ApiFailedError,
      );
    }
  });
});

const CLASSES: Record<number, unknown> = {
  401: AuthError,
  403: AuthError,
  404: NotFoundError,
  409: RequestRefusedError,
  422: RequestRefusedError,
  429: RateLimitedError,
  500: ApiFailedError,
  503: ApiUnavailableError,
  504: ApiUnavailableError,
  542: ApiFailedError,
};
