import type { Clock } from './clock.ts';
import {
  DatabaseConflictError,
  DatabaseError,
  DatabaseUnavailableError,
  EtlError,
  EXIT,
  SourceRefusesError,
} from './errors.ts';
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
  /** What the last error means, after all attempts before: it is thrown in its place. Default: itself. */
  readonly meaning?: (error: unknown) => unknown;
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
 * @throws the first error that is not worth another attempt, the last one when all attempts are made (or what they mean),
 * or the reason of the signal
 */
export async function retry<T>(options: RetryOptions, work: (attempt: number) => Promise<T>): Promise<T> {
  const { attempts, clock, random, when, delay, meaning, signal, onRetry } = options;
  for (let attempt = 1; ; attempt += 1) {
    const began = clock.monotonic();
    try {
      return await work(attempt);
    } catch (error) {
      if (clock.monotonic() - began > GOOD_WHILE_MS) attempt = 1;
      if (attempt >= attempts || !when(error, attempt)) throw meaning?.(error) ?? error;
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

/** Tells that something is away while work waits for it, and that it is back. */
export interface OutageLog {
  /** An attempt at `what` failed. */
  waits(what: string, failure: { readonly error: unknown; readonly pauseMs: number }): void;
  /** Work at `what` was done. */
  isBack(what: string): void;
}

/** An outage that lasts is logged again after so long, then each time that it has lasted twice as long. */
const REMINDER_MS = 10 * 60_000;

/** One line where an outage begins, whatever waits for its end, and one when nothing waits any more. */
export function createOutageLog(logger: Logger, clock: Pick<Clock, 'monotonic'>): OutageLog {
  const waiting = new Set<string>();
  let [beganAt, reminder] = [0, 0];
  return {
    waits(what, { error, pauseMs }) {
      const { code, message } =
        error instanceof EtlError ? error : { code: 'unknown', message: String(error) };
      if (waiting.size === 0) [beganAt, reminder] = [clock.monotonic(), 0];
      waiting.add(what);
      const fields = { what, code, reason: message, pauseMs };
      if (clock.monotonic() - beganAt < reminder) {
        logger.debug(fields, 'waiting before another attempt');
        return;
      }
      logger.warn(fields, 'waiting before another attempt');
      reminder = Math.max(REMINDER_MS, 2 * reminder);
    },
    isBack(what) {
      if (!waiting.delete(what) || waiting.size > 0) return;
      logger.info({ what, seconds: Math.round((clock.monotonic() - beganAt) / 1000) }, 'no longer waiting');
    },
  };
}

/** Of what the database says only a person's work is final; the rest may be over when somebody has looked after it. */
function mayPass(error: unknown): boolean {
  return isRetryable(error) || (error instanceof DatabaseError && error.exitCode !== EXIT.usage);
}

/** What a source says to everybody while it is deployed, checks for bots, or its keys are renewed. */
const REFUSALS: ReadonlySet<string> = new Set(['auth', 'request_refused', 'not_found', 'no_endpoint']);
/** So long a source must refuse before a person has to change something. */
const REFUSED_MS = 10 * 60_000;
/** Between refusals that are farther apart nobody asked, or much was read: the process stood still, or the source answered. */
const APART_MS = 5 * 60_000;

/**
 * For an API or a database that is away or in trouble, and for a source that refuses. A refusal is believed when all
 * attempts of the last ten minutes were refused: one that came to anything else, even to another error, ends the count.
 * So is another network behind the address, by who waits as long as it takes. Who does not ends at once: what is behind it
 * is not what was asked for.
 */
export function createOutagePolicy({
  clock,
  attempts,
}: Pick<RetryContext, 'clock' | 'attempts'>): RetryPolicy {
  let [since, last] = [0, -Infinity];
  const isRefusal = ({ code }: EtlError) =>
    REFUSALS.has(code) || (code === 'wrong_network' && attempts === Infinity);
  return {
    ...OUTAGE,
    meaning: (error) => (last - since < REFUSED_MS ? error : believed(error)),
    when: (error) => {
      if (!(error instanceof EtlError) || !isRefusal(error)) {
        last = -Infinity;
        return mayPass(error);
      }
      const now = clock.monotonic();
      if (now - last > APART_MS) since = now;
      last = now;
      return now - since < REFUSED_MS;
    },
  };
}

/** One request that is refused is a failure; a source that refuses them all is for a person, as is a key that it refuses. */
function believed(error: unknown): unknown {
  if (!(error instanceof EtlError) || error.exitCode === EXIT.usage) return error;
  return new SourceRefusesError(`${error.message}; nothing else for ten minutes`, {
    hint: 'Check TONCENTER_NETWORK: this host may be another one, or lack what this version asks for.',
    cause: error,
  });
}

interface OutageOptions extends RetryContext {
  readonly logger: Logger;
  readonly signal: AbortSignal;
  /** Shared by all that wait for the same API and database; default: one of its own. */
  readonly outage?: OutageLog | undefined;
}

/**
 * Waits for an API or a database that is away or in trouble, and logs that it does; undefined where it was stopped
 * meanwhile. Work that lasts calls `isBack` when it advances: its end may be days away.
 */
export async function outlast<T>(
  options: OutageOptions,
  what: string,
  work: (isBack: () => void) => Promise<T>,
): Promise<T | undefined> {
  const { signal, outage = createOutageLog(options.logger, options.clock) } = options;
  const isBack = () => outage.isBack(what);
  try {
    signal.throwIfAborted();
    const onRetry: RetryOptions['onRetry'] = (failure) => outage.waits(what, failure);
    const result = await retry({ ...options, ...createOutagePolicy(options), onRetry }, () => work(isBack));
    isBack();
    return result;
  } catch (error) {
    if (signal.aborted) return undefined;
    throw error;
  }
}

/**
 * Waits for a database that is away, and logs that it does; the API's own failures are the work's.
 * @throws as `retry` does
 */
export async function outlastDatabase<T>(options: OutageOptions, work: () => Promise<T>): Promise<T> {
  const { outage = createOutageLog(options.logger, options.clock) } = options;
  const when = (error: unknown) => error instanceof DatabaseUnavailableError;
  const onRetry: RetryOptions['onRetry'] = (failure) => outage.waits('the database', failure);
  const result = await retry({ ...options, ...OUTAGE, when, onRetry }, work);
  outage.isBack('the database');
  return result;
}
