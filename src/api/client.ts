import PQueue from 'p-queue';
import { type Budget, type Priority, urgencyOf } from '../budget/request-budget.ts';
import { type Flight, MOST_IN_FLIGHT, type InFlight } from '../budget/in-flight.ts';
import { type Clock, linkSignals } from '../clock.ts';
import {
  ApiFailedError,
  ApiUnavailableError,
  NoEndpointError,
  ApiTimeoutError,
  BadResponseError,
  RateLimitedError,
  RequestTooLargeError,
} from '../errors.ts';
import type { Logger } from '../logger.ts';
import type { Params } from '../dataset/paginators/paginator.ts';
import type { Recorder } from './recorder.ts';
import {
  attempt,
  type AttemptContext,
  type BodyReading,
  type Call,
  type Attempt,
  type Exchange,
  createStats,
  type Stats,
  createServerFacts,
  type ApiFacts,
} from './attempt.ts';
import { createPreparer, readBaseUrl } from './prepare.ts';
import { guardKey, createTransport } from './transport.ts';
import { summary } from './response/refused-response.ts';
import { createRedactor, keysInPath } from '../settings/redact.ts';
import { retry, type RetryOptions, type RetryPolicy } from '../retry.ts';

export interface ApiClientOptions {
  /** Scheme, host and optionally a path before `/api`: `https://toncenter.com`. */
  readonly baseUrl: string;
  /** Sent as the header `X-API-Key` and nowhere else. */
  readonly apiKey?: string | undefined;
  readonly budget: Budget;
  readonly logger: Logger;
  readonly clock: Clock;
  /** From 0 to 1, for the jitter between attempts. */
  readonly random: () => number;
  /** For a whole request, from send to the last byte. Default: 30 s. */
  readonly timeoutMs?: number;
  /** Attempts while the API is down, before the error is thrown. */
  readonly attempts: number;
  /** How many requests should be in flight. The budget decides how often one begins. */
  readonly inFlight: InFlight;
  /** Ends every request. */
  readonly signal?: AbortSignal | undefined;
  /** Ends the waits for slots and between attempts, in which no request is in flight. Running attempts continue. */
  readonly finishing?: AbortSignal | undefined;
  readonly userAgent?: string;
  /** Requests go through this proxy; undefined: directly to the host. */
  readonly proxy?: URL | undefined;
  /** Records each raw response, of any status. */
  readonly recorder?: Pick<Recorder, 'record'> | undefined;
  /** Called for each answered attempt. Must not throw. */
  readonly onExchange?: (attempt: Attempt) => void;
}

/** Attempts at a request that may never succeed. */
export const ATTEMPTS_IN_DOUBT = 2;

interface RequestOptions {
  readonly params?: Params;
  readonly priority: Priority;
  /** If omitted, the flight ends with the response. Otherwise the caller ends it when the rows are written. */
  readonly flight?: Flight | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number | undefined;
  /** Attempts if the request may never succeed. Default: as many as make sense. */
  readonly attemptsInDoubt?: number | undefined;
}

/** `path`: below the host, such as `/api/v3/blocks`. */
export type GetRequest<T> = RequestOptions & BodyReading<T> & { readonly path: string };

/** `method`: a method of v2, such as `getTransactions`. */
export type CallRequest<T> = RequestOptions & BodyReading<T> & { readonly method: string };

/**
 * All requests to the API go through this client. Its methods throw the API errors of `errors.ts`, or the
 * reason of an aborted signal.
 */
export interface ApiClient {
  get<T>(request: GetRequest<T>): Promise<Exchange<T>>;
  /**
   * Calls a v2 method and parses the `result` of its envelope. If the server lacks the method's own route,
   * JSON-RPC is used.
   */
  call<T>(request: CallRequest<T>): Promise<Exchange<T>>;
  readonly stats: Stats;
  /** True if the server is known to lack an endpoint: then requests to it are not worth planning. */
  lacks(path: string): boolean;
  /** Makes the client try an endpoint again, even if the server has just said that it lacks it. */
  recheck(path: string): void;
  readonly inFlight: InFlight;
  /**
   * Unix milliseconds at which a pause ends that the API has requested; undefined if there is none of more
   * than a minute.
   */
  pausedUntil(): number | undefined;
  /** Aborts running requests, which reject with an AbortError, and closes the connections. */
  close(): Promise<void>;
}

/**
 * The steps of a request, in this order:
 *
 * 1. queue: a lane by priority, tail > repair > backfill > refresh
 * 2. retry: as long as it makes sense; outside the budget, so that every attempt takes a slot
 * 3. budget: a slot, the most urgent request first (budget/request-budget.ts)
 * 4. send: at once, with one deadline for the whole response (transport.ts)
 * 5. status: anything but 200 becomes an error; a 429 slows all requests down (attempt.ts)
 * 6. parse: JSON without loss (parse-json.ts), v2's envelope, the caller's `parse`; or the caller's
 * `readBytes`
 *
 * The key is in no URL, log record, error or exchange.
 */
export function createApiClient(options: ApiClientOptions): ApiClient {
  const { clock, logger, budget, inFlight } = options;
  const base = readBaseUrl(options.baseUrl);
  const inLane = createRequestQueue(inFlight, clock);
  const { stats, add: count } = createStats();
  const closing = new AbortController();
  const key = guardKey(options.apiKey);
  const connections = MOST_IN_FLIGHT + TAIL_LANES;
  const transport = createTransport({ origin: base.origin, connections, clock, key, proxy: options.proxy });
  const facts = createServerFacts(clock, logger);
  const chain: AttemptContext = {
    transport,
    budget,
    inFlight,
    clock,
    logger,
    count,
    host: base.host,
    withoutKey: createRedactor([options.apiKey, ...keysInPath(options.baseUrl)], '[key]'),
    key,
    onExchange: options.onExchange,
    recorder: options.recorder,
    facts,
  };
  const persistence = { ...options, logRetry: createRetryLog(logger, clock) };
  const run = async <T>(call: Call<T>, signal: AbortSignal | undefined): Promise<Exchange<T>> => {
    const link = linkSignals(closing.signal, options.signal, signal);
    try {
      return await inLane(call.priority, link.signal, () => persist(chain, persistence, call, link.signal));
    } finally {
      link.release();
    }
  };
  const prepare = createPreparer({ ...options, prefix: base.prefix });
  const ask = createAsk({ prepare, facts, run });
  return {
    get: ask,
    call: ask,
    stats,
    lacks: (path) => facts.lacks(path),
    recheck: (path) => {
      facts.recheck(path);
    },
    inFlight,
    pausedUntil: () => budget.pausedUntil?.(),
    close: async () => {
      closing.abort(new DOMException('The API client was closed', 'AbortError'));
      await transport.close();
    },
  };
}

interface AskParts {
  readonly prepare: ReturnType<typeof createPreparer>;
  readonly facts: ApiFacts;
  readonly run: <T>(call: Call<T>, signal: AbortSignal | undefined) => Promise<Exchange<T>>;
}

/**
 * Sends a request with a limit that the server accepts. Retries once if the server names an acceptable limit,
 * or if it may have a method on another route.
 */
function createAsk({ prepare, facts, run }: AskParts) {
  return async function ask<T>(request: GetRequest<T> | CallRequest<T>): Promise<Exchange<T>> {
    const limit = facts.withinLimit(request.params?.['limit']);
    const params = limit === undefined ? request.params : { ...request.params, limit };
    const envelope = 'method' in request;
    // A server may have v2's methods on their common route only.
    const byRpc = envelope && facts.lacks(`/api/v2/${request.method}`);
    const prepared = prepare({ ...request, params, byRpc });
    const { route } = prepared;
    facts.requireEndpoint(route);
    const sent = typeof limit === 'number' ? limit : undefined;
    try {
      return await run({ ...request, ...prepared, limit: sent, envelope }, request.signal);
    } catch (error) {
      const isLess = facts.learn(route, error) && sent !== undefined;
      const isElsewhere = envelope && !byRpc && error instanceof NoEndpointError;
      if (!isLess && !isElsewhere) throw error;
      return await ask(request);
    }
  };
}

interface Persistence extends Pick<ApiClientOptions, 'attempts' | 'random' | 'finishing'> {
  readonly logRetry: ReturnType<typeof createRetryLog>;
}

/** Retries until an attempt succeeds or another one makes no sense. */
async function persist<T>(
  chain: AttemptContext,
  { attempts, random, finishing, logRetry }: Persistence,
  call: Call<T>,
  signal: AbortSignal,
): Promise<Exchange<T>> {
  const { clock, count } = chain;
  const { path, priority } = call;
  const ended = linkSignals(signal, finishing);
  const onRetry: RetryOptions['onRetry'] = ({ error, attempt: number, pauseMs }) => {
    // The next attempt waits for the `Retry-After` in the budget.
    const asked = error instanceof ApiUnavailableError ? (error.retryAfterMs ?? 0) : 0;
    const waitMs = Math.round(Math.max(pauseMs, asked));
    logRetry({ path, priority, attempt: number, reason: summary(error), pauseMs: waitMs });
    count(priority, 'retries', 1);
  };
  const options = {
    ...createRetryPolicy(call.attemptsInDoubt),
    attempts,
    clock,
    random,
    signal: ended.signal,
    onRetry,
  };
  try {
    const signals = { signal, waiting: ended.signal };
    return await retry(options, (number) => attempt(chain, call, number, signals));
  } finally {
    ended.release();
  }
}

/**
 * Milliseconds between two warnings. A failing server fails hundreds of requests, and one warning a minute is enough.
 */
const EVERY_MS = 60_000;

interface FailedAttempt extends Pick<Attempt, 'path' | 'priority' | 'attempt'> {
  readonly reason: string;
  readonly pauseMs: number;
}

/**
 * Logs failed attempts at debug level, each with its number. The first of each minute is a warning, with the number of
 * failed attempts at all requests since the last warning, itself included.
 */
function createRetryLog(logger: Logger, clock: Pick<Clock, 'monotonic'>): (failed: FailedAttempt) => void {
  let warnedAt = -Infinity;
  let retries = 0;
  return (failed) => {
    retries += 1;
    if (clock.monotonic() - warnedAt < EVERY_MS) {
      logger.debug({ ...failed }, 'request failed, retrying');
      return;
    }
    const { path, priority, reason, pauseMs } = failed;
    logger.warn({ path, priority, reason, pauseMs, retries }, 'request failed, retrying');
    warnedAt = clock.monotonic();
    retries = 0;
  };
}

const BASE_MS = 1000;
const CAP_MS = 30_000;

/**
 * Attempts at a request that is answered badly. The answer may never change, so it is not retried as long as
 * an API that is down.
 */
const MAX_WRONG_RESPONSES = 6;

/**
 * How one request is retried: exponential backoff with full jitter (Marc Brooker, "Exponential Backoff And Jitter",
 * 2015). The budget handles `Retry-After`: every attempt waits there. A timeout is retried once and then thrown,
 * because only a smaller page helps. Errors that do not come from the API's availability are thrown at once.
 * `attemptsInDoubt`: the most attempts at a request that may never succeed, not counting rate limits.
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

/** Lanes for the tail only: one for each of its datasets and for the poll. They never wait for other requests. */
const TAIL_LANES = 16;

/** Additional lanes for requests that wait for a slot or between two attempts. */
const MORE_LANES = 16;

/**
 * Limits the concurrent requests and orders the waiting ones: runs the task when a lane is free, the most urgent
 * first. Rejects with the signal's reason as soon as it is aborted, waiting or running.
 *
 * Has a few more lanes than requests should be in flight, and some lanes for the tail only. A request keeps
 * its lane between its attempts. Without lanes of its own, the tail could not send requests while a backfill
 * waits out an outage.
 */
function createRequestQueue(inFlight: Pick<InFlight, 'target'>, clock: Pick<Clock, 'monotonic'>) {
  const tail = new PQueue({ concurrency: TAIL_LANES });
  const rest = new PQueue({ concurrency: inFlight.target + MORE_LANES });
  return <T>(priority: Priority, signal: AbortSignal, task: () => Promise<T>): Promise<T> => {
    rest.concurrency = inFlight.target + MORE_LANES;
    const queue = priority === 'tail' ? tail : rest;
    return queue.add(task, { priority: urgencyOf(priority, clock), signal });
  };
}
