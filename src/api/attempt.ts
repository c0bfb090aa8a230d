import type { Budget, Priority, Flight, InFlight } from '../budget/request-budget.ts';
import type { Clock } from '../clock.ts';
import {
  ApiFailedError,
  ApiUnavailableError,
  BadResponseError,
  EtlError,
  NoEndpointError,
  RequestTooLargeError,
  LimitRefusedError,
} from '../errors.ts';
import type { Logger } from '../logger.ts';
import type { Recorder, KeyGuard, ApiResponse, Outgoing, ResponseHead, Transport } from './transport.ts';
import { parseBody, openEnvelope, summary, errorOfStatus } from './read-response.ts';
import type { Params } from '../dataset/paginators/paginator.ts';

/** What every attempt needs. */
export interface AttemptContext {
  readonly transport: Transport;
  readonly budget: Budget;
  readonly inFlight: InFlight;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly count: ReturnType<typeof createStats>['add'];
  readonly host: string;
  /** Removes the key from a text, in any spelling. */
  readonly withoutKey: (text: string) => string;
  /** The same for data, which must not change by chance. */
  readonly key: KeyGuard;
  readonly onExchange: ((attempt: Attempt) => void) | undefined;
  /** What the server has revealed about its endpoints. */
  readonly facts: Pick<ApiFacts, 'answered' | 'mayAnswer'>;
  /** Records the responses, if that was requested. */
  readonly recorder: Pick<Recorder, 'record'> | undefined;
}

/** A request with everything that can be computed before its slot. */
export interface Prepared {
  readonly path: string;
  /** What the server has or lacks: the path, or a method on the common route. */
  readonly route: string;
  readonly query: string;
  readonly outgoing: Outgoing;
}

/** A prepared request and how its response is read. */
export type Call<T> = CallFacts & BodyReading<T>;

/** How a body becomes a value. If it throws, the response counts as bad and the request is retried. */
export type BodyReading<T> =
  | {
      /**
       * Reads the parsed body (for v2, the result). `limit`: the limit that was sent, which may be less than requested.
       */
      readonly parse: (body: unknown, limit: number | undefined) => T;
      readonly readBytes?: never;
    }
  | { readonly readBytes: ReadBytes<T>; readonly parse?: never };

/** Reads the raw body, some milliseconds at a time. */
export type ReadBytes<T> = (body: Buffer, how: BytesReading) => Promise<T>;

export interface BytesReading {
  readonly limit: number | undefined;
  /** Lets timers fire: see `Flight.read`. */
  readonly turn: () => Promise<void>;
}

interface CallFacts extends Prepared {
  readonly priority: Priority;
  /** The caller's own flight, which the caller ends. */
  readonly flight?: Flight | undefined;
  /** The number of rows that it requests, if given. */
  readonly limit: number | undefined;
  /** Attempts if the request may never succeed. If omitted, as many as usual. */
  readonly attemptsInDoubt?: number | undefined;
  /** True if the body is v2's envelope and `parse` reads its result. */
  readonly envelope: boolean;
}

interface AttemptSignals {
  readonly signal: AbortSignal;
  /** Ends the wait for a slot, in which no request is in flight. */
  readonly waiting: AbortSignal;
}

/** One attempt: slot, send, status, body. Throws what `transport`, `errorOfStatus` and the parsers throw. */
export async function attempt<T>(
  context: AttemptContext,
  call: Call<T>,
  number: number,
  { signal, waiting }: AttemptSignals,
): Promise<Exchange<T>> {
  await context.budget.take(call.priority, waiting);
  const flight = call.flight ?? context.inFlight.open(call.priority, true);
  try {
    return await send(context, { ...call, flight }, number, signal);
  } catch (error) {
    flight.failed(isTrouble(error));
    throw error;
  } finally {
    if (call.flight === undefined) flight.end();
  }
}

/** True if the source is overloaded or down. */
function isTrouble(error: unknown): boolean {
  if (error instanceof BadResponseError || error instanceof RequestTooLargeError) return false;
  return error instanceof ApiUnavailableError;
}

async function send<T>(
  context: AttemptContext,
  call: Call<T> & { readonly flight: Flight },
  number: number,
  signal: AbortSignal,
): Promise<Exchange<T>> {
  const { flight } = call;
  const sentAt = context.clock.monotonic();
  const elapsed = () => context.clock.monotonic() - sentAt - flight.waitedMs;
  flight.sent();
  context.count(call.priority, 'requests', 1);
  const received = await context.transport.send(call.outgoing, signal, {
    onHead: (head) => report(context, call, head, elapsed()),
    beforeBody: (ended) => flight.arrived(ended),
  });
  const ms = elapsed();
  log(context, call, received, { attempt: number, ms });
  const value = await flight.read((turn) => readReceived(context, call, received, { turn, signal }));
  context.facts.answered(call.route);
  const { path, query, limit } = call;
  const { status, bytes, apiVersion } = received;
  return { value, request: { path, query, limit }, status, bytes, ms, attempts: number, apiVersion };
}

/** Removes the key from a body before it is used, in any spelling in which a server may repeat it. */
async function readReceived<T>(
  context: AttemptContext,
  call: Call<T>,
  received: ApiResponse,
  { turn, signal }: Pick<BytesReading, 'turn'> & { readonly signal: AbortSignal },
): Promise<T> {
  const { limit, path, query } = call;
  const { status, apiVersion } = received;
  if (status !== 200) {
    const text = context.withoutKey(received.body.toString());
    context.recorder?.record({ path, query, status, apiVersion, text });
    throw refusalOf(context, call, received, { status, text });
  }
  const body = context.key.mayBeIn(received.body)
    ? Buffer.from(context.key.without(received.body.toString()))
    : received.body;
  context.recorder?.record({ path, query, status, apiVersion, text: body.toString() });
  try {
    if (call.readBytes !== undefined) return await call.readBytes(body, { limit, turn });
    return parse(context, call, received, body);
  } catch (error) {
    signal.throwIfAborted();
    return refuseBody(context, call, error);
  }
}

/** Reports to the budget as soon as the status is known, so that a 429 stops other requests before its body is read. */
async function report<T>(
  context: AttemptContext,
  call: Call<T>,
  head: ResponseHead,
  elapsedMs: number,
): Promise<void> {
  if (head.status === 429) context.count(call.priority, 'refused', 1);
  if (head.status === 429 || (head.status >= 500 && head.retryAfterMs !== undefined)) {
    await context.budget.refused(head.retryAfterMs, elapsedMs);
  } else {
    await context.budget.succeeded(elapsedMs);
  }
}

function log<T>(
  context: AttemptContext,
  { path, priority }: Call<T>,
  { status, bytes }: ApiResponse,
  { attempt: number, ms }: { attempt: number; ms: number },
): void {
  const fields: Attempt = { path, priority, status, ms: Math.round(ms), bytes, attempt: number };
  context.count(priority, 'bytes', bytes);
  context.logger.debug(fields, 'request');
  context.onExchange?.(fields);
}

function refusalOf<T>(
  context: AttemptContext,
  call: Call<T>,
  { retryAfterMs, apiVersion }: ApiResponse,
  { status, text }: { readonly status: number; readonly text: string },
): EtlError {
  const error = errorOfStatus({
    status,
    body: text,
    label: call.outgoing.label,
    path: call.path,
    host: context.host,
    retryAfterMs,
    apiVersion,
  });
  // If several servers answer, one of them may be of an older build, or is being deployed.
  return error instanceof NoEndpointError && context.facts.mayAnswer(call.route)
    ? new ApiFailedError(error.message, error.hint === undefined ? {} : { hint: error.hint })
    : error;
}

function parse<T>(
  context: AttemptContext,
  call: Extract<Call<T>, { readonly readBytes?: never }>,
  received: ApiResponse,
  body: Buffer,
): T {
  const text = body.toString();
  const parsed = parseBody(text);
  if (!call.envelope) return call.parse(parsed, call.limit);
  const opened = openEnvelope(parsed);
  if (!opened.ok) throw refusalOf(context, call, received, { status: opened.status, text });
  return call.parse(opened.result, call.limit);
}

/** True if deeply nested JSON has exhausted the stack. */
function isTooDeep(error: unknown): boolean {
  return error instanceof RangeError && /call stack/i.test(error.message);
}

/**
 * True for a bug of this program, which no response should cause. The page is refused as a bad one, so that a
 * daemon does not end, and the log has the reason.
 */
function isBug(error: unknown): boolean {
  return error instanceof TypeError || error instanceof ReferenceError;
}

function refuseBody<T>(context: AttemptContext, call: Call<T>, error: unknown): never {
  if (error instanceof EtlError && !(error instanceof BadResponseError)) throw error;
  const reason = isTooDeep(error) ? 'values are nested too deep to read' : context.withoutKey(summary(error));
  // Without a cause: a ZodError would print every issue of a page.
  throw new BadResponseError(`${call.outgoing.label}: the response is not the endpoint's: ${reason}`, {
    hint: isBug(error)
      ? 'This is a bug of toncenter-etl: please report it with this message.'
      : 'A proxy may answer instead of the API, or the API has changed: look at the response with curl.',
  });
}

/** An answered request and its response. */
export interface Exchange<T> {
  readonly value: T;
  /** The request as it was sent. The key is in a header and never part of it. */
  readonly request: {
    readonly path: string;
    readonly query: string;
    /** The number of rows that it requested, if given: at most the server's limit. */
    readonly limit: number | undefined;
  };
  readonly status: number;
  /** Bytes of the body on the wire, mostly compressed. */
  readonly bytes: number;
  /** From the send of the last attempt to the end of its decoded body, without the waits for a memory slot. */
  readonly ms: number;
  /** Attempts made, at least 1. */
  readonly attempts: number;
  /** The server's `X-API-Version`: the answers of 1.2.x and 1.3.x differ. */
  readonly apiVersion: string | undefined;
}

/** The facts of an exchange that the log of pages stores. */
export function loggedOf({ request, bytes, ms, apiVersion }: Exchange<unknown>) {
  return { request: `${request.path}?${request.query}`, bytes, ms, apiVersion };
}

/** One attempt that got a response, of any status: for logs and metrics. */
export interface Attempt {
  readonly path: string;
  readonly priority: Priority;
  readonly status: number;
  readonly ms: number;
  readonly bytes: number;
  /** 1 for the first. */
  readonly attempt: number;
}

/** What was sent and received since the client was created. */
interface Counters {
  /** Attempts that were sent; the server counts each of them. */
  requests: number;
  /** Attempts that were refused because of the rate (429). */
  refused: number;
  /** Attempts that followed a failed attempt of the same request. */
  retries: number;
  /** Bytes of bodies on the wire, mostly compressed. */
  bytes: number;
}

/** The counters in total and by priority; live, not a copy. */
export interface Stats extends Readonly<Counters> {
  readonly byPriority: Readonly<Record<Priority, Readonly<Counters>>>;
}

export function createStats() {
  const byPriority = { tail: zero(), repair: zero(), backfill: zero(), refresh: zero() };
  const stats = { ...zero(), byPriority };
  const add = (priority: Priority, counter: keyof Counters, by: number) => {
    stats[counter] += by;
    byPriority[priority][counter] += by;
  };
  return { stats, add };
}

function zero(): Counters {
  return { requests: 0, refused: 0, retries: 0, bytes: 0 };
}

/** An endpoint that never answered is retried after a minute, then after twice as long each time, at most an hour. */
const FIRST_PAUSE_MS = 60_000;

const LONGEST_PAUSE_MS = 60 * FIRST_PAUSE_MS;

/**
 * An endpoint that has answered counts as gone if it is reported missing for this long: one of several
 * servers may lack it.
 */
const GONE_MS = 10 * 60_000;

export type ApiFacts = ReturnType<typeof createServerFacts>;

/** The state of one endpoint. */
interface Endpoint {
  hasAnswered: boolean;
  /** When the server first reported the endpoint missing since it last answered. */
  lackingSince: number | undefined;
  error: NoEndpointError | undefined;
  /** No request is sent before this time. */
  until: number;
  pauseMs: number;
}

const UNKNOWN: Endpoint = {
  hasAnswered: false,
  lackingSince: undefined,
  error: undefined,
  until: -Infinity,
  pauseMs: FIRST_PAUSE_MS,
};

/** What the server has revealed about itself: the endpoints that it lacks, and the largest limit. */
export function createServerFacts(clock: Pick<Clock, 'monotonic'>, logger: Logger) {
  const endpoints = new Map<string, Endpoint>();
  let most = Infinity;
  const known = (path: string): Endpoint => {
    const endpoint = endpoints.get(path) ?? { ...UNKNOWN };
    endpoints.set(path, endpoint);
    return endpoint;
  };
  const absence = (path: string) => {
    const { error, until } = known(path);
    return clock.monotonic() < until ? error : undefined;
  };
  return {
    /** True if the server is known to lack the endpoint, and the pause before the next request is not over. */
    lacks: (path: string) => absence(path) !== undefined,
    /** @throws NoEndpointError if `lacks` is true */
    requireEndpoint(path: string): void {
      const error = absence(path);
      if (error !== undefined) throw error;
    },
    /** Ends the pause of an endpoint. */
    recheck: (path: string) => void (known(path).until = -Infinity),
    answered: (path: string) => void endpoints.set(path, { ...UNKNOWN, hasAnswered: true }),
    /**
     * True if the endpoint has answered and may do so again. Then a report that it is missing counts as an
     * ordinary failure.
     */
    mayAnswer(path: string): boolean {
      const endpoint = known(path);
      endpoint.lackingSince ??= clock.monotonic();
      return endpoint.hasAnswered && clock.monotonic() - endpoint.lackingSince < GONE_MS;
    },
    /** The largest limit that the server accepts, up to `limit`. */
    withinLimit: (limit: Params[string]): Params[string] =>
      typeof limit === 'number' ? Math.min(limit, most) : limit,
    /** True if the error names a limit that the server accepts. */
    learn(path: string, error: unknown): boolean {
      if (error instanceof NoEndpointError) {
        const endpoint = known(path);
        // Warns once until the endpoint answers again.
        const level = endpoint.error === undefined ? 'warn' : 'debug';
        endpoint.error = error;
        endpoint.until = clock.monotonic() + endpoint.pauseMs;
        logger[level](
          { path, reason: error.message, pauseMs: endpoint.pauseMs },
          'endpoint not found; retrying after a pause',
        );
        endpoint.pauseMs = Math.min(LONGEST_PAUSE_MS, 2 * endpoint.pauseMs);
        return false;
      }
      if (!(error instanceof LimitRefusedError) || error.most < 1 || error.most >= most) return false;
      most = error.most;
      logger.warn({ path, rows: most }, 'server limits rows per page; requesting fewer');
      return true;
    },
  };
}
