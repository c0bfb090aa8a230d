import { expect, test } from 'vitest';
import { ApiFailedError } from '../../src/api/api-failed-error.ts';
import { retryAfterMs } from '../../src/api/retry-after.ts';
import { retryDelay } from '../../src/api/retry.ts';
import {
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
const trial = { error: away, attempt: 1, timeouts: 0, maxAttempts: 6, random: 1 };

test('the wait doubles with each attempt, up to thirty seconds', () => {
  const waits = [1, 2, 3, 4, 5, 6, 7, 50].map((attempt) =>
    retryDelay({ ...trial, attempt, maxAttempts: Infinity }),
  );
  expect(waits).toEqual([1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000]);
});

test('the jitter is full: anything from nothing to the whole wait', () => {
  expect(retryDelay({ ...trial, attempt: 3, random: 0 })).toBe(0);
  expect(retryDelay({ ...trial, attempt: 3, random: 0.25 })).toBe(1000);
});

test('an API that is away is given up after maxAttempts, and never with Infinity', () => {
  expect(retryDelay({ ...trial, attempt: 5 })).toBeDefined();
  expect(retryDelay({ ...trial, attempt: 6 })).toBeUndefined();
  expect(retryDelay({ ...trial, attempt: 10_000, maxAttempts: Infinity })).toBeDefined();
});

test.each([new BadResponseError('html'), new ApiFailedError('500')])(
  'wrong answers (%s) are not asked for without end',
  (error) => {
    expect(retryDelay({ ...trial, error, attempt: 5, maxAttempts: Infinity })).toBeDefined();
    expect(retryDelay({ ...trial, error, attempt: 6, maxAttempts: Infinity })).toBeUndefined();
  },
);

test('a timeout is tried once more at the same size, then thrown', () => {
  const error = new ApiTimeoutError('timeout');
  expect(retryDelay({ ...trial, error, timeouts: 1 })).toBeDefined();
  expect(retryDelay({ ...trial, error, attempt: 2, timeouts: 2, maxAttempts: Infinity })).toBeUndefined();
});

test('Retry-After is the least that is waited', () => {
  const error = new RateLimitedError('429', 7000);
  expect(retryDelay({ ...trial, error, random: 0 })).toBe(7000);
  expect(retryDelay({ ...trial, error, attempt: 5 })).toBe(16_000);
});

test.each([
  new NotFoundError('x'),
  new RequestRefusedError('x'),
  new AuthError('x'),
  new DatabaseUnavailableError('x'),
  new TypeError('x'),
])('%s is thrown at once', (error) => {
  expect(retryDelay({ ...trial, error })).toBeUndefined();
});

test.each([
  ['3', 3000],
  ['0.5', 500],
  ['0', 0],
  ['Thu, 01 Jan 2026 00:00:10 GMT', 10_000],
  ['Wed, 31 Dec 2025 23:00:00 GMT', 0],
  ['86400', 3_600_000],
  ['soon', undefined],
  ['', undefined],
  [undefined, undefined],
])('Retry-After %s is %s ms', (header, ms) => {
  expect(retryAfterMs(header, Date.UTC(2026, 0, 1))).toBe(ms);
});
