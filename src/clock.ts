import { setMaxListeners } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import {
  DatabaseConflictError,
  DatabaseError,
  DatabaseUnavailableError,
  EtlError,
  EXIT,
  SourceRefusesError,
} from './errors.ts';
import type { Logger } from './logger.ts';

/** Time as a parameter, so that tests control it. */
export interface Clock {
  /** Wall time, milliseconds since the epoch. */
  now(): number;
  /** Monotonic time, milliseconds since some start. */
  monotonic(): number;
  /** Resolves after `ms`; rejects with an AbortError as soon as `signal` is aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  sleep: (ms, signal) => {
    // All loops of a daemon sleep until one signal. This is intended and not a leak.
    if (signal !== undefined) setMaxListeners(0, signal);
    return delay(Math.max(0, ms), undefined, signal === undefined ? {} : { signal });
  },
};

interface Rhythm {
  /** Milliseconds between the end of one run and the start of the next. */
  readonly pauseMs: number;
  readonly signal: AbortSignal;
  /** If true, it begins with the pause. */
  readonly isLater?: boolean;
}

/** Repeats work with a pause in between, until the signal is aborted. */
export async function every(
  clock: Pick<Clock, 'sleep'>,
  { pauseMs, signal, isLater = false }: Rhythm,
  work: () => Promise<unknown>,
): Promise<void> {
  // Only the signal ends a pause early.
  const pause = () => clock.sleep(pauseMs, signal).catch(() => undefined);
  if (isLater) await pause();
  while (!signal.aborted) {
    await work();
    await pause();
  }
}

/** Unix seconds, as in chain time. */
export function unixSeconds(clock: Pick<Clock, 'now'>): number {
  return Math.floor(clock.now() / 1000);
}

/**
 * A signal that is aborted as soon as one of its sources is, for the same reason, until it is released: then no source
 * keeps anything of it. `AbortSignal.any` does the same, but on Node 20 each combination leaves some hundred bytes in a
 * source until the source itself is freed. One of the sources here is the signal that ends the process.
 */
export function linkSignals(...sources: readonly (AbortSignal | undefined)[]): {
  readonly signal: AbortSignal;
  readonly release: () => void;
} {
  const controller = new AbortController();
  const undo: (() => void)[] = [];
  for (const source of sources) {
    if (source === undefined) continue;
    if (source.aborted) controller.abort(source.reason);
    const follow = () => {
      controller.abort(source.reason);
    };
    // Many requests listen to one signal. This is intended and not a leak.
    setMaxListeners(0, source);
    source.addEventListener('abort', follow, { once: true });
    undo.push(() => {
      source.removeEventListener('abort', follow);
    });
  }
  setMaxListeners(0, controller.signal);
  return {
    signal: controller.signal,
    release: () => {
      for (const step of undo) step();
    },
  };
}

/** A sleep that can be ended early when there is something to do. */
export function createInterruptibleSleep(clock: Clock) {
  let current = new AbortController();
  return {
    /** Resolves after `ms`, or as soon as it is ended. */
    sleep: async (ms: number) => {
      current = new AbortController();
      const { signal } = current;
      // Rounded up to whole milliseconds: a timer that fires early would be one request too many in its window.
      await clock.sleep(Math.ceil(ms), signal).catch((error: unknown) => {
        if (!signal.aborted) throw error;
      });
    },
    /** Ends the current sleep, if there is one. */
    end: () => {
      current.abort();
    },
  };
}

/** A failed attempt. */
interface Failure {
  readonly error: unknown;
  /** Attempts made, at least 1. */
  readonly attempt: number;
}

/** Which errors are worth another attempt, and when. */
export interface RetryPolicy {
  readonly when: (error: unknown, attempt: number) => boolean;
  /** Milliseconds before the next attempt; `random` is from 0 to 1, for jitter. */
  readonly delay: (failure: Failure & { readonly random: number }) => number;
  /** Replaces the last error after all attempts. Default: the error itself. */
  readonly meaning?: (error: unknown) => unknown;
}

/** What every retry needs. */
export interface RetryContext {
  /** Attempts before the last error is thrown; Infinity: no limit. */
  readonly attempts: number;
  readonly clock: Pick<Clock, 'monotonic' | 'sleep'>;
  /** From 0 to 1. */
  readonly random: () => number;
}

export interface RetryOptions extends RetryContext, RetryPolicy {
  /** Ends the pauses. Running work listens to its own signals. */
  readonly signal?: AbortSignal | undefined;
  /** Called before each pause. */
  readonly onRetry?: (failure: Failure & { readonly pauseMs: number }) => void;
}

/** Work that lasted longer than this was not waiting for an outage: its failure is a new one. */
const GOOD_WHILE_MS = 15 * 60_000;

/**
 * Repeats the work until it succeeds. After long work the attempts are counted from 1 again.
 * @throws the first error that is not worth another attempt, the last error when all attempts are made (or
 * its meaning), or the reason of the signal
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

/** True for errors that may pass although no person changes anything. */
function isRetryable(error: unknown): boolean {
  return error instanceof EtlError && error.retryable;
}

/** For an API or a database that is down: pauses double, up to a minute. */
export const OUTAGE: RetryPolicy = {
  when: isRetryable,
  delay: ({ attempt }) => Math.min(60_000, 1000 * 2 ** (attempt - 1)),
};

/** For transactions in conflict: pauses double too, but start at a tenth of a second and have full jitter. */
export const CONFLICT: RetryPolicy = {
  when: (error) => error instanceof DatabaseConflictError,
  delay: ({ attempt, random }) => random * Math.min(5000, 50 * 2 ** attempt),
};

export type OutageLog = ReturnType<typeof createOutageLog>;

/** A long outage is logged again after this time, then each time that it has lasted twice as long. */
const REMINDER_MS = 10 * 60_000;

/** Logs one line when an outage begins, whatever waits for it, and one when nothing waits any more. */
export function createOutageLog(logger: Logger, clock: Pick<Clock, 'monotonic'>) {
  const waiting = new Set<string>();
  let [beganAt, reminder] = [0, 0];
  return {
    /** Notes a failed attempt at `what`. */
    waits: (what: string, { error, pauseMs }: { readonly error: unknown; readonly pauseMs: number }) => {
      const { code, message } =
        error instanceof EtlError ? error : { code: 'unknown', message: String(error) };
      if (waiting.size === 0) [beganAt, reminder] = [clock.monotonic(), 0];
      waiting.add(what);
      const fields = { what, code, reason: message, pauseMs };
      if (clock.monotonic() - beganAt < reminder) {
        logger.debug(fields, 'not available, retrying');
        return;
      }
      logger.warn(fields, 'not available, retrying');
      reminder = Math.max(REMINDER_MS, 2 * reminder);
    },
    /** Notes that work at `what` succeeded. */
    onAnswer: (what: string) => {
      if (!waiting.delete(what) || waiting.size > 0) return;
      logger.info({ what, seconds: Math.round((clock.monotonic() - beganAt) / 1000) }, 'available again');
    },
  };
}

/**
 * Of a database's errors, only those that need a person are final. The others may pass when a person has
 * fixed the cause.
 */
function mayPass(error: unknown): boolean {
  return isRetryable(error) || (error instanceof DatabaseError && error.exitCode !== EXIT.usage);
}

/** What a source answers to every request while it is deployed, checks for bots, or its keys are renewed. */
const REFUSALS: ReadonlySet<string> = new Set(['auth', 'request_refused', 'not_found', 'no_endpoint']);
/** A source must refuse for this long before the error is final. */
const REFUSED_MS = 10 * 60_000;
/**
 * If refusals are farther apart than this, they do not belong together: the process was suspended, or the
 * source answered in between.
 */
const APART_MS = 5 * 60_000;

/**
 * For an API or a database that is down or failing, and for a source that refuses. A refusal is final if all
 * attempts of the last ten minutes were refused. Any other outcome, even another error, restarts the count.
 * The same holds for another network at the address, if the caller waits without limit. Otherwise another
 * network ends the work at once, because its data was not requested.
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

/** A refused request is a failure. A source that refuses every request needs a person, and so does a rejected key. */
function believed(error: unknown): unknown {
  if (!(error instanceof EtlError) || error.exitCode === EXIT.usage) return error;
  return new SourceRefusesError(`${error.message}; no successful response for ten minutes`, {
    hint: 'Check TONCENTER_NETWORK: this host may be the wrong one, or lack an endpoint that this version needs.',
    cause: error,
  });
}

interface OutageOptions extends RetryContext {
  readonly logger: Logger;
  readonly signal: AbortSignal;
  /** Shared by all work that waits for the same API and database; default: one of its own. */
  readonly outage?: OutageLog | undefined;
}

/**
 * Waits for an API or a database that is down or failing, and logs it; undefined if it was stopped meanwhile.
 * Long work calls `onAnswer` when it makes progress, because its end may be days away.
 */
export async function outlast<T>(
  options: OutageOptions,
  what: string,
  work: (onAnswer: () => void) => Promise<T>,
): Promise<T | undefined> {
  const { signal, outage = createOutageLog(options.logger, options.clock) } = options;
  const onAnswer = () => outage.onAnswer(what);
  try {
    signal.throwIfAborted();
    const onRetry: RetryOptions['onRetry'] = (failure) => outage.waits(what, failure);
    const result = await retry({ ...options, ...createOutagePolicy(options), onRetry }, () => work(onAnswer));
    onAnswer();
    return result;
  } catch (error) {
    if (signal.aborted) return undefined;
    throw error;
  }
}

/**
 * Waits for a database that is down, and logs it. The work itself handles failures of the API.
 * @throws as `retry` does
 */
export async function outlastDatabase<T>(options: OutageOptions, work: () => Promise<T>): Promise<T> {
  const { outage = createOutageLog(options.logger, options.clock) } = options;
  const when = (error: unknown) => error instanceof DatabaseUnavailableError;
  const onRetry: RetryOptions['onRetry'] = (failure) => outage.waits('the database', failure);
  const result = await retry({ ...options, ...OUTAGE, when, onRetry }, work);
  outage.onAnswer('the database');
  return result;
}
