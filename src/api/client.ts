import PQueue from 'p-queue';
import {
  type Budget,
  type Priority,
  urgencyOf,
  type Flight,
  MOST_IN_FLIGHT,
  type InFlight,
} from '../budget/request-budget.ts';
import { type Clock, linkSignals, retry, type RetryOptions, type RetryPolicy } from '../clock.ts';
import {
  ApiFailedError,
  ApiUnavailableError,
  NoEndpointError,
  ApiTimeoutError,
  BadResponseError,
  RateLimitedError,
  RequestTooLargeError,
  UsageError,
} from '../errors.ts';
import type { Logger } from '../logger.ts';
import type { Params, Param } from '../dataset/paginators/paginator.ts';
import { type Recorder, guardKey, createTransport, ACCEPT_ENCODING, type Outgoing } from './transport.ts';
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
  type Prepared,
} from './attempt.ts';
import { summary } from './read-response.ts';
import { createRedactor, keysInPath } from '../settings/redact.ts';

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
 * 5. status: anything but 200 becomes an error (read-response.ts); a 429 slows all requests down (attempt.ts)
 * 6. parse: JSON without loss (read-response.ts), v2's envelope, the caller's `parse`; or the caller's
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
  const connections = MOST_IN_FLIGHT + 2 * TAIL_LANES;
  const transport = createTransport({ origin: base.origin, connections, clock, key, proxy: options.proxy });
  const facts = createServerFacts(clock, logger);
  const context: AttemptContext = {
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
      return await inLane(call, link.signal, () => persist(context, persistence, call, link.signal));
    } finally {
      link.release();
    }
  };
  const prepare = createPreparer(base.prefix, options);
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
  context: AttemptContext,
  { attempts, random, finishing, logRetry }: Persistence,
  call: Call<T>,
  signal: AbortSignal,
): Promise<Exchange<T>> {
  const { clock, count } = context;
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
    return await retry(options, (number) => attempt(context, call, number, signals));
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
      const isWrong = error instanceof ApiFailedError || error instanceof BadResponseError;
      return !isWrong || attempt < MAX_WRONG_RESPONSES;
    },
    delay: ({ attempt, random }) => random * Math.min(CAP_MS, BASE_MS * 2 ** (attempt - 1)),
  };
}

/** Lanes for the tail only: one for each of its datasets and for the poll. They never wait for other requests. */
const TAIL_LANES = 16;

/** Additional lanes for requests that wait for a slot or between two attempts. */
const MORE_LANES = 16;

/** `flight` is given if the answer keeps its memory until its rows are committed. */
type Queued = Pick<Call<unknown>, 'priority' | 'flight'>;

/**
 * Limits the concurrent requests and orders the waiting ones: runs the task when a lane is free, the most urgent
 * first. Rejects with the signal's reason as soon as it is aborted, waiting or running.
 *
 * Has a few more lanes than requests should be in flight, and some lanes for the tail only. A request keeps
 * its lane between its attempts. Without lanes of its own, the tail could not send requests while a backfill
 * waits out an outage. Pages keep their lanes while they wait for memory, which a page gives back when it is committed,
 * and it may need more requests before. So those have lanes of their own, too, or both would wait for each other forever.
 */
function createRequestQueue(inFlight: Pick<InFlight, 'target'>, clock: Pick<Clock, 'monotonic'>) {
  const lanes = () => ({ tail: new PQueue({ concurrency: TAIL_LANES }), rest: new PQueue() });
  const [pages, others] = [lanes(), lanes()];
  return <T>({ priority, flight }: Queued, signal: AbortSignal, task: () => Promise<T>): Promise<T> => {
    const { tail, rest } = flight === undefined ? others : pages;
    rest.concurrency = inFlight.target + MORE_LANES;
    const queue = priority === 'tail' ? tail : rest;
    return queue.add(task, { priority: urgencyOf(priority, clock), signal });
  };
}

/**
 * A v3 path below the host, or a v2 method, with its parameters. `byRpc`: the method is called on the common
 * route of v2.
 */
type PreparableCall = ({ readonly path: string } | { readonly method: string; readonly byRpc?: boolean }) & {
  readonly params?: Params | undefined;
  readonly timeoutMs?: number | undefined;
};

/** The route on which every v2 method can be called. */
const RPC = '/api/v2/jsonRPC';
/** Parameters that are numbers in a JSON-RPC body. In a query all parameters are text. */
const NUMBERS = new Set(['limit', 'workchain', 'seqno', 'from_seqno']);

/** Single objects of a known size. If more bytes come, the API did not send them, and the request may be retried. */
const LARGEST_THINGS: Readonly<Record<string, number>> = {
  '/api/v3/masterchainInfo': 2 ** 16,
  '/api/v2/getMasterchainInfo': 2 ** 16,
  '/api/v3/masterchainBlockShardState': 2 ** 22,
  '/api/v2/tryLocateTx': 2 ** 24,
  '/api/v2/getExtendedAddressInformation': 2 ** 24,
  '/api/v2/getShardBlockProof': 2 ** 24,
};
/** A list of few rows may still be large, such as a trace of thousands of transactions. */
const LARGEST_ROW = 2 ** 25;
/** Far more than one of many rows takes. */
const LARGE_ROW = 2 ** 17;
/** The API sends no larger page, and several of them at once would fill the memory. */
const LARGEST_LIST = 2 ** 27;

/** Maximum number of bytes in a response. */
function mostBytesOf(path: string, { limit }: Params): Outgoing['most'] {
  const bytes = LARGEST_THINGS[path];
  if (bytes !== undefined) return { bytes, isList: false };
  const ofRows = typeof limit === 'number' ? LARGEST_ROW + limit * LARGE_ROW : LARGEST_LIST;
  return { bytes: Math.min(ofRows, LARGEST_LIST), isList: true };
}

const TIMEOUT_MS = 30_000;

function createPreparer(
  prefix: string,
  { apiKey, userAgent, timeoutMs = TIMEOUT_MS }: Pick<ApiClientOptions, 'apiKey' | 'userAgent' | 'timeoutMs'>,
) {
  const headers: Readonly<Record<string, string>> = {
    accept: 'application/json',
    'accept-encoding': ACCEPT_ENCODING,
    'user-agent': userAgent ?? 'toncenter-etl',
    ...(apiKey !== undefined && { 'x-api-key': checkedKey(apiKey) }),
  };
  /** Prepares a request. The path of a v2 method is the same on either route. */
  return ({ params = {}, timeoutMs: own = timeoutMs, ...call }: PreparableCall): Prepared => {
    const path = 'path' in call ? call.path : `/api/v2/${call.method}`;
    const query = toQuery(params);
    const shared = { headers, timeoutMs: own, most: mostBytesOf(path, params) };
    if ('method' in call && call.byRpc === true) {
      const label = `POST ${RPC} ${call.method}`;
      const body = rpcBody(call.method, params);
      return {
        path,
        route: `${RPC}#${call.method}`,
        query,
        outgoing: { ...shared, target: `${prefix}${RPC}`, body, label },
      };
    }
    const target = `${prefix}${path}${query === '' ? '' : `?${query}`}`;
    return { path, route: path, query, outgoing: { ...shared, target, label: `GET ${path}` } };
  };
}

function rpcBody(method: string, params: Params): string {
  const given = Object.entries(params).map(([name, value]): [string, Param] => [
    name,
    NUMBERS.has(name) && typeof value === 'string' ? Number(value) : value,
  ]);
  const named: Params = Object.fromEntries(given);
  return JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: named });
}

function checkedKey(key: string): string {
  // The HTTP layer would refuse any other key, and its message might repeat the key.
  if (/^[\x21-\x7e]+$/.test(key)) return key;
  throw new UsageError('The API key contains invalid characters', { hint: 'Check TONCENTER_API_KEY.' });
}

/** Parses the base URL of the API. The error messages do not repeat it, because it may contain secrets. */
function readBaseUrl(text: string) {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    throw new UsageError('The base URL of the API is not an http(s) URL', { hint: BASE_URL_HINT });
  }
  if (url.username !== '' || url.password !== '' || url.search !== '') {
    throw new UsageError('The base URL of the API must not contain a query or a password', {
      hint: BASE_URL_HINT,
    });
  }
  // The prefix is the path before `/api`, without a trailing slash.
  return { origin: url.origin, host: url.host, prefix: url.pathname.replace(/\/+$/, '') };
}

const BASE_URL_HINT =
  'Set TONCENTER_NETWORK to mainnet, testnet, demo or a URL like https://toncenter.com; a key goes to TONCENTER_API_KEY.';

/**
 * The query string of a request, without `?`. Arrays become repeated keys, the only form that the API accepts for every
 * parameter; undefined is omitted.
 *
 * The API ignores values that it does not understand and then answers for everything. So values that would silently
 * drop a filter (an empty list, an empty text, a number that is none) throw a UsageError, and so does a key in the URL.
 */
export function toQuery(params: Params): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) {
    if (value === undefined) continue;
    if (/^(api_key|x-api-key)$/i.test(name)) {
      throw new UsageError('An API key must not be in a URL', { hint: 'Set TONCENTER_API_KEY instead.' });
    }
    const values = typeof value === 'object' ? value : [value];
    if (values.length === 0) throw new UsageError(`The parameter ${name} is an empty list`);
    for (const one of values) query.append(name, printed(name, one));
  }
  return query.toString();
}

function printed(name: string, value: string | number | boolean): string {
  if (value === '' || (typeof value === 'number' && !Number.isFinite(value))) {
    throw new UsageError(`The parameter ${name} has no value`);
  }
  return String(value);
}
