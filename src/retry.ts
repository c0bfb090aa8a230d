import type { Clock } from './clock.ts';
import { DatabaseConflictError, EtlError } from './errors.ts';
import type { Logger } from './logger.ts';

/** An attempt that failed. */
interface Failure {
  readonly error: unknown;
  /** Attempts made, at least 1. */
  readonly attempt: number;
}

/** Which errors are worth another attempt, and when it is made. */
export interface RetryPolicy {
  readonly when: (error: unknown, attempt: number) => boolean;
  /** Milliseconds before the next attempt; `random` is from 0 to 1, for jitter. */
  readonly delay: (failure: Failure & { readonly random: number }) => number;
}

/** What every retry needs of its surroundings. */
export interface RetryContext {
  /** Attempts in all, before the last error is thrown; Infinity: as long as it takes. */
  readonly attempts: number;
  readonly clock: Pick<Clock, 'monotonic' | 'sleep'>;
  /** From 0 to 1. */
  readonly random: () => number;
}

export interface RetryOptions extends RetryContext, RetryPolicy {
  /** Ends the pauses; work under way listens to its own signals. */
  readonly signal?: AbortSignal | undefined;
  /** Called before each pause. */
  readonly onRetry?: (failure: Failure & { readonly pauseMs: number }) => void;
}

/** Work that lasted longer than this was not waiting for something that is away: its trouble is a new one. */
const GOOD_WHILE_MS = 15 * 60_000;

/**
 * Does the work until it succeeds. After long work the attempts are counted anew.
 * @throws the first error that is not worth another attempt, the last one when all attempts are made, or the reason of
 * the signal
 */
export async function retry<T>(options: RetryOptions, work: (attempt: number) => Promise<T>): Promise<T> {
  const { attempts, clock, random, when, delay, signal, onRetry } = options;
  for (let attempt = 1; ; attempt += 1) {
    const began = clock.monotonic();
    try {
      return await work(attempt);
    } catch (error) {
      if (clock.monotonic() - began > GOOD_WHILE_MS) attempt = 1;
      if (attempt >= attempts || !when(error, attempt)) throw error;
      signal?.throwIfAborted();
      const pauseMs = delay({ error, attempt, random: random() });
      onRetry?.({ error, attempt, pauseMs });
      await clock.sleep(pauseMs, signal).finally(() => signal?.throwIfAborted());
    }
  }
}

/** True for errors that may pass without anybody changing anything. */
function isRetryable(error: unknown): boolean {
  return error instanceof EtlError && error.retryable;
}

/** For an API or a database that is away: pauses double, up to a minute. */
export const OUTAGE: RetryPolicy = {
  when: isRetryable,
  delay: ({ attempt }) => Math.min(60_000, 1000 * 2 ** (attempt - 1)),
};

/** For transactions that met: pauses double too, but from a tenth of a second on and with full jitter. */
export const CONFLICT: RetryPolicy = {
  when: (error) => error instanceof DatabaseConflictError,
  delay: ({ attempt, random }) => random * Math.min(5000, 50 * 2 ** attempt),
};

interface OutageOptions extends RetryContext {
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

/** Waits for an API or a database that is away, and logs each pause; undefined where it was stopped meanwhile. */
export async function outlast<T>(
  options: OutageOptions,
  what: string,
  work: () => Promise<T>,
): Promise<T | undefined> {
  const { logger, signal } = options;
  const onRetry: RetryOptions['onRetry'] = ({ error, pauseMs }) => {
    const { code, message } = error instanceof EtlError ? error : { code: 'unknown', message: String(error) };
    logger.warn({ what, code, reason: message, pauseMs }, 'waiting before another attempt');
  };
  try {
    signal.throwIfAborted();
    return await retry({ ...options, ...OUTAGE, onRetry }, work);
  } catch (error) {
    if (signal.aborted) return undefined;
    throw error;
  }
}
