import PQueue from 'p-queue';
import type { Budget } from '../budget/request-budget.ts';
import { type Flight, MOST_IN_FLIGHT, type InFlight } from '../budget/in-flight.ts';
import type { Clock } from '../clock.ts';
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
import { type Priority, urgencyOf } from '../budget/priority.ts';
import type { Recorder } from './recorder.ts';
import { attempt, type AttemptContext, type BodyReading, type Call } from './attempt.ts';
import type { Attempt, Exchange } from './exchange.ts';
import { linkSignals } from './link-signals.ts';
import { createPreparer, readBaseUrl } from './prepare.ts';
import { guardKey } from './response/key-guard.ts';
import { summary } from './response/reason.ts';
import { createRedactor } from '../settings/redact.ts';
import { retry, type RetryOptions, type RetryPolicy } from '../retry.ts';
import { createServerFacts, type ApiFacts } from './server-facts.ts';
import { createStats, type Stats } from './stats.ts';
import { createTransport } from './transport.ts';

export interface ApiClientOptions {
  /** Scheme, host and perhaps a path before `/api`: `https://toncenter.com`. */
  readonly baseUrl: string;
  /** Sent as header `X-API-Key`, and found nowhere else. */
  readonly apiKey?: string | undefined;
  readonly budget: Budget;
  readonly logger: Logger;
  readonly clock: Clock;
  /** From 0 to 1, for the jitter between attempts. */
  readonly random: () => number;
  /** For a whole request, from send to the last byte. Default 30 s. */
  readonly timeoutMs?: number;
  /** Attempts while the API is away, before its error is thrown. */
  readonly attempts: number;
  /** How many requests should be under way at once; the budget decides how often one begins. */
  readonly inFlight: InFlight;
  /** Ends every request. */
  readonly signal?: AbortSignal | undefined;
  /** Ends the waits for slots and between attempts: nothing is in hand in them. An attempt under way goes on. */
  readonly finishing?: AbortSignal | undefined;
  readonly userAgent?: string;
  /** Requests go through this proxy; undefined: directly to the host. */
  readonly proxy?: URL | undefined;
  /** Keeps each response, of any status, as it came. */
  readonly recorder?: Pick<Recorder, 'record'> | undefined;
  /** Called for each attempt that was answered. Must not throw. */
  readonly onExchange?: (attempt: Attempt) => void;
}

interface RequestOptions {
  readonly params?: Params;
  readonly priority: Priority;
  /** Left out: the request ends with its response. Else the caller ends it, when its rows are written. */
  readonly flight?: Flight | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number | undefined;
  /** Attempts at what may never be answered well. Default: as many as make sense. */
  readonly attemptsInDoubt?: number | undefined;
}

/** `path`: below the host, such as `/api/v3/blocks`. */
export type GetRequest<T> = RequestOptions & BodyReading<T> & { readonly path: string };

/** `method`: of v2, such as `getTransactions`. */
export type CallRequest<T> = RequestOptions & BodyReading<T> & { readonly method: string };

/** The one way to the API. Its methods throw the API errors of `errors.ts`, or the reason of an aborted signal. */
export interface ApiClient {
  get<T>(request: GetRequest<T>): Promise<Exchange<T>>;
  /** Calls a v2 method, by its own route or over JSON-RPC where the server has none, and parses the `result` of its envelope. */
  call<T>(request: CallRequest<T>): Promise<Exchange<T>>;
  readonly stats: Stats;
  /** True where the server lacks an endpoint, as far as it is known: nothing of it is worth planning. */
  lacks(path: string): boolean;
  /** The endpoint is asked for again, however lately the server said that it lacks it. */
  recheck(path: string): void;
  readonly inFlight: InFlight;
  /** Unix milliseconds at which a pause ends that the API has asked for; undefined while there is none of more than a minute. */
  pausedUntil(): number | undefined;
  /** Ends what is under way, which then rejects with an AbortError, and closes the connections. */
  close(): Promise<void>;
}

/**
 * The chain that a request goes through, in this order:
 *
 * 1. queue: a lane by priority, tail > repair > backfill > refresh (queue.ts)
 * 2. retry: as long as it makes sense (retry-policy.ts); outside the budget, so that every attempt pays
 * 3. budget: a slot, the more urgent first (budget/budget.ts)
 * 4. send: at once, with one deadline for the whole (transport.ts)
 * 5. status: what is not 200 becomes an error (status.ts); a 429 slows everybody
 * 6. parse: JSON without loss (parse-json.ts), v2's envelope (v2.ts), the caller's `parse`; or the caller's `readBytes`
 *
 * The key is in no URL, log record, error or exchange.
 */
export function createApiClient(options: ApiClientOptions): ApiClient {
  const { clock, logger, budget, inFlight } = options;
  const base = readBaseUrl(options.baseUrl);
  const queue = createRequestQueue(inFlight, clock);
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
    withoutKey: createRedactor([options.apiKey], '[key]'),
    key,
    onExchange: options.onExchange,
    recorder: options.recorder,
    facts,
  };
  const persistence = { ...options, logRetry: createRetryLog(logger, clock) };
  const run = async <T>(call: Call<T>, signal: AbortSignal | undefined): Promise<Exchange<T>> => {
    const link = linkSignals(closing.signal, options.signal, signal);
    try {
      return await queue.run(call.priority, link.signal, () =>
        persist(chain, persistence, call, link.signal),
      );
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

/** Asks for no more than the server has, and once more where it says what would pass, or may have a method elsewhere. */
function createAsk({ prepare, facts, run }: AskParts) {
  return async function ask<T>(request: GetRequest<T> | CallRequest<T>): Promise<Exchange<T>> {
    const limit = facts.withinLimit(request.params?.['limit']);
    const params = limit === undefined ? request.params : { ...request.params, limit };
    const envelope = 'method' in request;
    // A server may have v2's methods only over their common route.
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

/** Makes attempts until one succeeds or another makes no sense. */
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
    // What a Retry-After asks for the next attempt waits for in the budget.
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

/** A server in trouble fails hundreds of requests: one of them a minute is worth a warning, in milliseconds. */
const EVERY_MS = 60_000;

interface FailedAttempt extends Pick<Attempt, 'path' | 'priority' | 'attempt'> {
  readonly reason: string;
  readonly pauseMs: number;
}

/** Logs attempts that failed: the first of a minute as a warning, with how many were none since the last; all others at debug. */
function createRetryLog(logger: Logger, clock: Pick<Clock, 'monotonic'>): (failed: FailedAttempt) => void {
  let warnedAt = -Infinity;
  let retries = 0;
  return (failed) => {
    if (clock.monotonic() - warnedAt < EVERY_MS) {
      retries += 1;
      logger.debug({ ...failed }, 'request failed, trying again');
      return;
    }
    logger.warn({ ...failed, retries }, 'request failed, trying again');
    warnedAt = clock.monotonic();
    retries = 0;
  };
}

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

/** How many requests are under way at once, and which is next. */
interface RequestQueue {
  /**
   * Runs the task when a lane is free, the most urgent first. Rejects with the signal's reason as soon as it is
   * aborted, waiting or running.
   */
  run<T>(priority: Priority, signal: AbortSignal, task: () => Promise<T>): Promise<T>;
  /** Requests that wait for a lane. */
  readonly waiting: number;
}

/** Lanes that only the tail may use: each of its datasets has one, and the poll, whatever the others wait for. */
const TAIL_LANES = 16;

/** Lanes beyond the requests under way: for those that wait for a slot, or between two attempts. */
const MORE_LANES = 16;

/**
 * As many lanes as requests should be under way and some more, and a few for the tail alone: a request keeps its lane
 * between its attempts, so a backfill that waits out an outage would otherwise keep the head of the chain from even asking.
 */
function createRequestQueue(
  inFlight: Pick<InFlight, 'target'>,
  clock: Pick<Clock, 'monotonic'>,
): RequestQueue {
  const tail = new PQueue({ concurrency: TAIL_LANES });
  const rest = new PQueue({ concurrency: inFlight.target + MORE_LANES });
  return {
    run: (priority, signal, task) => {
      rest.concurrency = inFlight.target + MORE_LANES;
      const queue = priority === 'tail' ? tail : rest;
      return queue.add(task, { priority: urgencyOf(priority, clock), signal });
    },
    get waiting() {
      return tail.size + rest.size;
    },
  };
}
