import { expect, test } from 'vitest';
import { retryAfterMs } from '../../src/api/transport.ts';
import { createRetryPolicy } from '../../src/api/client.ts';
import {
  ApiFailedError,
  ApiTimeoutError,
  ApiUnavailableError,
  AuthError,
  BadResponseError,
  DatabaseUnavailableError,
  NotFoundError,
  RateLimitedError,
  RequestRefusedError,
} from '../../src/errors.ts';

const away = new ApiUnavailableError('away');

function delay(attempt: number, random: number, error: Error = away): number {
  return createRetryPolicy().delay({ error, attempt, random });
}

test('the wait doubles with each attempt, up to thirty seconds', () => {
  const waits = [1, 2, 3, 4, 5, 6, 7, 50].map((attempt) => delay(attempt, 1));
  expect(waits).toEqual([1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000]);
});

test('the jitter is full: anything from zero to the whole wait', () => {
  expect(delay(3, 0)).toBe(0);
  expect(delay(3, 0.25)).toBe(1000);
});

test('an unavailable API is worth any number of attempts', () => {
  expect(createRetryPolicy().when(away, 10_000)).toBe(true);
});

test.each([new BadResponseError('html'), new ApiFailedError('500')])(
  'wrong responses (%s) are not retried without end',
  (error) => {
    expect(createRetryPolicy().when(error, 5)).toBe(true);
    expect(createRetryPolicy().when(error, 6)).toBe(false);
  },
);

test('a timeout is retried once at the same size, then thrown', () => {
  const { when } = createRetryPolicy();
  expect(when(new ApiTimeoutError('timeout'), 1)).toBe(true);
  expect(when(new ApiTimeoutError('timeout'), 2)).toBe(false);
});

test('Retry-After is not waited for here: the budget holds all requests until the pause ends', () => {
  const error = new RateLimitedError('429', { retryAfterMs: 7000 });
  expect(delay(1, 0, error)).toBe(0);
  expect(delay(5, 1, error)).toBe(16_000);
});

test.each([
  new NotFoundError('x'),
  new RequestRefusedError('x'),
  new AuthError('x'),
  new DatabaseUnavailableError('x'),
  new TypeError('x'),
])('%s is thrown at once', (error) => {
  expect(createRetryPolicy().when(error, 1)).toBe(false);
});

test.each([
  ['3', 3000],
  ['0.5', 500],
  ['0', 0],
  ['Thu, 01 Jan 2026 00:00:10 GMT', 10_000],
  ['Wed, 31 Dec 2025 23:00:00 GMT', 0],
  ['86400', 3_600_000],
  ['soon', undefined],
  ['0x7fffffff', undefined],
  ['1e9', undefined],
  ['-5', undefined],
  ['Thursday, 01-Jan-26 00:00:10 GMT', 10_000],
  ['', undefined],
  [undefined, undefined],
])('Retry-After %s is %s ms', (header, ms) => {
  expect(retryAfterMs(header, undefined, Date.UTC(2026, 0, 1))).toBe(ms);
});

test('a date in Retry-After is by the clock of the server, however wrong that is', () => {
  const header = 'Thu, 01 Jan 2026 00:00:10 GMT';
  for (const hours of [-5, 5])
    expect(retryAfterMs(header, 'Thu, 01 Jan 2026 00:00:00 GMT', Date.UTC(2026, 0, 1, hours))).toBe(10_000);
});
