import {
  ApiTimeoutError,
  ApiUnavailableError,
  BadResponseError,
  RateLimitedError,
  RequestTooLargeError,
} from '../errors.ts';
import { ApiFailedError } from './api-failed-error.ts';

const BASE_MS = 1000;
const CAP_MS = 30_000;

/** Attempts at what answers, but wrongly: it may never change, so patience for an API that is away is not for it. */
const MAX_WRONG_ANSWERS = 6;

/** What has happened to a request so far. */
export interface Trial {
  readonly error: unknown;
  /** Attempts made, at least 1. */
  readonly attempt: number;
  /** How many of them ended in a timeout, the server's or our own. */
  readonly timeouts: number;
  /** The most attempts while the API is away; may be Infinity. */
  readonly maxAttempts: number;
  /** From 0 to 1. */
  readonly random: number;
}

/**
 * Milliseconds to wait before the next attempt, or undefined to give up.
 *
 * Exponential backoff with full jitter (Marc Brooker, "Exponential Backoff And Jitter", 2015), and never less than what
 * a `Retry-After` asks for. A timeout is tried once more and then thrown, because only a smaller page helps; what is
 * no fault of the API's availability is thrown at once.
 */
export function retryDelay({ error, attempt, timeouts, maxAttempts, random }: Trial): number | undefined {
  if (!(error instanceof ApiUnavailableError) || attempt >= maxAttempts) return undefined;
  if (error instanceof RequestTooLargeError) return undefined;
  if (error instanceof ApiTimeoutError && timeouts > 1) return undefined;
  if (isWrongAnswer(error) && attempt >= MAX_WRONG_ANSWERS) return undefined;
  const backoff = random * Math.min(CAP_MS, BASE_MS * 2 ** (attempt - 1));
  const asked = error instanceof RateLimitedError ? (error.retryAfterMs ?? 0) : 0;
  return Math.max(backoff, asked);
}

function isWrongAnswer(error: ApiUnavailableError): boolean {
  return error instanceof ApiFailedError || error instanceof BadResponseError;
}
