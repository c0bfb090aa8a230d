import {
  ApiTimeoutError,
  ApiUnavailableError,
  BadResponseError,
  RateLimitedError,
  RequestTooLargeError,
} from '../errors.ts';
import type { RetryPolicy } from '../retry.ts';
import { ApiFailedError } from './response/api-failed-error.ts';

const BASE_MS = 1000;
const CAP_MS = 30_000;

/** Attempts at what answers, but wrongly: it may never change, however long an API that is away is waited for. */
const MAX_WRONG_RESPONSES = 6;

/**
 * How one request is tried again: exponential backoff with full jitter (Marc Brooker, "Exponential Backoff And Jitter",
 * 2015). What a `Retry-After` asks for the budget keeps: every attempt waits there. A timeout is tried once more and then
 * thrown, because only a smaller page helps; what is no fault of the API's availability is thrown at once.
 * `attemptsInDoubt`: so often at most is a request tried that may never be answered well, as long as it is not the rate that
 * the API minds.
 */
export function createRetryPolicy(attemptsInDoubt?: number): RetryPolicy {
  let timeouts = 0;
  return {
    when: (error, attempt) => {
      if (error instanceof ApiTimeoutError) timeouts += 1;
      if (!(error instanceof ApiUnavailableError) || error instanceof RequestTooLargeError) return false;
      if (error instanceof ApiTimeoutError && timeouts > 1) return false;
      if (attemptsInDoubt !== undefined && !(error instanceof RateLimitedError))
        return attempt < attemptsInDoubt;
      return !isWrongResponse(error) || attempt < MAX_WRONG_RESPONSES;
    },
    delay: ({ attempt, random }) => random * Math.min(CAP_MS, BASE_MS * 2 ** (attempt - 1)),
  };
}

function isWrongResponse(error: ApiUnavailableError): boolean {
  return error instanceof ApiFailedError || error instanceof BadResponseError;
}
