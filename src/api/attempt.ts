import * as z from 'zod';
import type { Budget } from '../budget/request-budget.ts';
import type { Clock } from '../clock.ts';
import {
  ApiFailedError,
  ApiUnavailableError,
  BadResponseError,
  EtlError,
  NoEndpointError,
  RequestTooLargeError,
  ApiTimeoutError,
  AuthError,
  LimitRefusedError,
  NotFoundError,
  RateLimitedError,
  RequestRefusedError,
} from '../errors.ts';
import type { Flight, InFlight } from '../budget/in-flight.ts';
import type { Logger } from '../logger.ts';
import type { Priority } from '../budget/priority.ts';
import type { Recorder } from './recorder.ts';
import type { Attempt, Exchange, CountingStats, ApiFacts } from './exchange.ts';
import type { KeyGuard, ApiResponse, ResponseHead, Transport } from './transport.ts';
import { parseBody } from './response/parse-json.ts';
import type { Prepared } from './prepare.ts';
import { summary, reasonOf, type Reason } from './response/reason.ts';

/** A response without success. */
interface RefusedResponse {
  readonly status: number;
  readonly body: string;
  /** For the message: `GET /api/v3/blocks`. */
  readonly label: string;
  readonly path: string;
  /** The host of the request, for hints. */
  readonly host: string;
  readonly retryAfterMs: number | undefined;
  /** The server's `X-API-Version`. Pages of gateways lack it. */
  readonly apiVersion: string | undefined;
}

/** These endpoints wrap every failure as 422, even a timeout of the database. */
const TIMEOUT_AS_422 = /\/(accountStates|walletStates|dns\/records)$/;
const TIMEOUT = /time(d )?-?out|deadline/i;
/** Build 1.2 answers 500 to parameters that it never accepts. */
const PERMANENT_500 = /limit is not allowed|wrong value for sort/i;
const LIMIT_REFUSED = /limit is not allowed: \d+ > (\d+)/i;
/** The web framework's 404, which the server wraps as 500: a method and a path (without a slash for v3). */
const NO_ROUTE = /\bCannot (?:GET|HEAD|POST|PUT) [^\s<"]+\s*(?:$|<)/;
/** The 404 texts of web frameworks for an unknown path. A 404 for missing data names the data instead. */
const BARE_NOT_FOUND =
  /^(?:internal server error: )?(?:404:? )?(?:page |route |path |method |endpoint )?(?:not found|does not exist)[.!]?$/i;
const BARE_NO_METHOD =
  /^(?:internal server error: )?(?:405:? |501:? )?(?:method not allowed|not implemented)[.!]?$/i;
/** The characters of a page that are searched. */
const LONGEST_PAGE = 10_000;
/** The method is not allowed or not implemented. This program only sends GET, which all of its endpoints accept. */
const NO_METHOD = new Set([405, 501]);
/** A gateway sends 413, 414 and 431 if the list of addresses was too long; half of it may pass. */
const TOO_LARGE = new Set([413, 414, 431]);
const COMES_BACK = new Set([408, 425]);

/**
 * The error that a response without status 200 stands for. Statuses are unreliable (401 for a missing parameter, 422 or
 * 500 for a timeout, 500 for a bad parameter, 429 in several forms), so only this function interprets them.
 */
export function errorOfStatus(refusal: RefusedResponse): EtlError {
  const { status } = refusal;
  const reason = reasonOf(refusal.body);
  const message = `${refusal.label} was answered ${status}: ${reason.text}`;
  if (status === 429)
    return new RateLimitedError(message, { hint: RATE_HINT, retryAfterMs: refusal.retryAfterMs });
  if (status >= 500) return serverError(refusal, message, reason);
  if (status >= 400) return clientError(refusal, message, reason);
  return new BadResponseError(message, {
    hint: `${refusal.host} redirects or does not answer as an API: check TONCENTER_NETWORK.`,
  });
}

function serverError(refusal: RefusedResponse, message: string, reason: Reason): EtlError {
  const { status, retryAfterMs } = refusal;
  const away = { hint: AWAY_HINT, retryAfterMs };
  if (lacksRoute(refusal, reason)) return new NoEndpointError(message, { hint: NO_ROUTE_HINT });
  if (!reason.own) return new ApiUnavailableError(message, away);
  if (status === 500 && PERMANENT_500.test(reason.text)) return requestRefused(message, reason);
  if (status === 500 && TIMEOUT.test(reason.text))
    return new ApiTimeoutError(message, { hint: TIMEOUT_HINT, retryAfterMs });
  if (status === 500 || status === 542) return new ApiFailedError(message, away);
  return new ApiUnavailableError(message, away);
}

function clientError(refusal: RefusedResponse, message: string, reason: Reason): EtlError {
  const { status, path } = refusal;
  const auth = authHint(refusal, reason);
  if (auth !== undefined) return new AuthError(message, { hint: auth });
  if (status === 422 && TIMEOUT_AS_422.test(path) && TIMEOUT.test(reason.text)) {
    return new ApiTimeoutError(message, { hint: TIMEOUT_HINT });
  }
  if (TOO_LARGE.has(status)) return new RequestTooLargeError(message, { hint: 'Request less at once.' });
  if (COMES_BACK.has(status)) return new ApiUnavailableError(message, { hint: AWAY_HINT });
  if (lacksRoute(refusal, reason)) return new NoEndpointError(message, { hint: NO_ROUTE_HINT });
  return reason.own ? ownError(status, message, reason) : pageError(refusal, message);
}

/** True if the response says that the server lacks the endpoint, in any form that servers use. */
function lacksRoute({ status, body, apiVersion }: RefusedResponse, { own, text }: Reason): boolean {
  if (NO_METHOD.has(status)) return own || apiVersion !== undefined;
  if (own && BARE_NO_METHOD.test(text)) return true;
  if (NO_ROUTE.test(own ? text : body.slice(0, LONGEST_PAGE))) return true;
  if (own) return (status === 404 || status === 500) && BARE_NOT_FOUND.test(text);
  return status === 404 && apiVersion !== undefined;
}

function ownError(status: number, message: string, reason: Reason): EtlError {
  return status === 404 ? new NotFoundError(message) : requestRefused(message, reason);
}

/**
 * The error for a response that is not the API's: a page of the server itself, or of a gateway, which may be temporary.
 */
function pageError({ apiVersion }: RefusedResponse, message: string): EtlError {
  return apiVersion === undefined
    ? new ApiFailedError(message, { hint: GATEWAY_HINT })
    : new RequestRefusedError(message);
}

function requestRefused(message: string, { text }: Reason): RequestRefusedError {
  const most = LIMIT_REFUSED.exec(text)?.[1];
  return most === undefined ? new RequestRefusedError(message) : new LimitRefusedError(message, Number(most));
}

/** The hint about the key; undefined if the key is not the cause. A 401 may be about a missing parameter. */
function authHint({ status, host }: RefusedResponse, reason: Reason): string | undefined {
  if (status === 401 && !(reason.own && / required/i.test(reason.text)))
    return `Check TONCENTER_API_KEY: ${host} does not know it. A key belongs to one network (TONCENTER_NETWORK).`;
  if (status === 403 && reason.own)
    return `Check that TONCENTER_API_KEY was issued for the network of ${host} (TONCENTER_NETWORK).`;
  return undefined;
}

const RATE_HINT = 'Lower TONCENTER_RPS, or check which other processes use the key: they share its limit.';
const AWAY_HINT = 'The API is down or failing; stored data is kept. Try again later.';
const GATEWAY_HINT = 'A gateway answers instead of the API, perhaps temporarily: open the URL in a browser.';
const TIMEOUT_HINT = 'The server stops each query after three seconds; it is busy: try again later.';
const NO_ROUTE_HINT =
  "This server may not have the endpoint: builds differ (see the response's X-API-Version).";

/** What every attempt needs. */
export interface AttemptContext {
  readonly transport: Transport;
  readonly budget: Budget;
  readonly inFlight: InFlight;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly count: CountingStats['add'];
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
  /** Waits for a turn on this thread: see `Flight.turn`. */
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
  chain: AttemptContext,
  call: Call<T>,
  number: number,
  { signal, waiting }: AttemptSignals,
): Promise<Exchange<T>> {
  await chain.budget.take(call.priority, waiting);
  const flight = call.flight ?? chain.inFlight.open(call.priority, true);
  try {
    return await send(chain, { ...call, flight }, number, signal);
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
  chain: AttemptContext,
  call: Call<T> & { readonly flight: Flight },
  number: number,
  signal: AbortSignal,
): Promise<Exchange<T>> {
  const { flight } = call;
  const sentAt = chain.clock.monotonic();
  const elapsed = () => chain.clock.monotonic() - sentAt - flight.waitedMs;
  flight.sent();
  chain.count(call.priority, 'requests', 1);
  const received = await chain.transport.send(call.outgoing, signal, {
    onHead: (head) => report(chain, call, head, elapsed()),
    beforeBody: (ended) => flight.arrived(ended),
  });
  const ms = elapsed();
  log(chain, call, received, { attempt: number, ms });
  const value = await readResponse(chain, call, received, signal);
  chain.facts.answered(call.route);
  const { path, query, limit } = call;
  const { status, bytes, apiVersion } = received;
  return { value, request: { path, query, limit }, status, bytes, ms, attempts: number, apiVersion };
}

/** Removes the key from a body before it is used, in any spelling in which a server may repeat it. */
async function readResponse<T>(
  chain: AttemptContext,
  call: Call<T> & { readonly flight: Flight },
  received: ApiResponse,
  signal: AbortSignal,
): Promise<T> {
  const { flight, limit } = call;
  await flight.turn();
  if (received.status !== 200) {
    const text = chain.withoutKey(received.body.toString());
    keep(chain, call, received, text);
    throw refusalOf(chain, call, received, { status: received.status, text });
  }
  const body = chain.key.mayBeIn(received.body)
    ? Buffer.from(chain.key.without(received.body.toString()))
    : received.body;
  if (chain.recorder !== undefined) keep(chain, call, received, body.toString());
  try {
    if (call.readBytes !== undefined) return await call.readBytes(body, { limit, turn: () => flight.turn() });
    return await parse(chain, call, received, body);
  } catch (error) {
    signal.throwIfAborted();
    return refuseBody(chain, call, error);
  }
}

/** Reports to the budget as soon as the status is known, so that a 429 stops other requests before its body is read. */
async function report<T>(
  chain: AttemptContext,
  call: Call<T>,
  head: ResponseHead,
  elapsedMs: number,
): Promise<void> {
  if (head.status === 429) chain.count(call.priority, 'refused', 1);
  if (head.status === 429 || (head.status >= 500 && head.retryAfterMs !== undefined)) {
    await chain.budget.refused(head.retryAfterMs, elapsedMs);
  } else {
    await chain.budget.succeeded(elapsedMs);
  }
}

function log<T>(
  chain: AttemptContext,
  { path, priority }: Call<T>,
  { status, bytes }: ApiResponse,
  { attempt: number, ms }: { attempt: number; ms: number },
): void {
  const fields: Attempt = { path, priority, status, ms: Math.round(ms), bytes, attempt: number };
  chain.count(priority, 'bytes', bytes);
  chain.logger.debug(fields, 'request');
  chain.onExchange?.(fields);
}

function keep<T>(
  chain: AttemptContext,
  { path, query }: Call<T>,
  { status, apiVersion }: ApiResponse,
  text: string,
): void {
  chain.recorder?.record({ path, query, status, apiVersion, text });
}

function refusalOf<T>(
  chain: AttemptContext,
  call: Call<T>,
  { retryAfterMs, apiVersion }: ApiResponse,
  { status, text }: { readonly status: number; readonly text: string },
): EtlError {
  const error = errorOfStatus({
    status,
    body: text,
    label: call.outgoing.label,
    path: call.path,
    host: chain.host,
    retryAfterMs,
    apiVersion,
  });
  // If several servers answer, one of them may be of an older build, or is being deployed.
  return error instanceof NoEndpointError && chain.facts.mayAnswer(call.route)
    ? new ApiFailedError(error.message, error.hint === undefined ? {} : { hint: error.hint })
    : error;
}

async function parse<T>(
  chain: AttemptContext,
  call: Extract<Call<T>, { readonly readBytes?: never }> & { readonly flight: Flight },
  received: ApiResponse,
  body: Buffer,
): Promise<T> {
  const text = body.toString();
  const parsed = parseBody(text, body);
  await call.flight.turn();
  if (!call.envelope) return call.parse(parsed, call.limit);
  const opened = openEnvelope(parsed);
  if (!opened.ok) throw refusalOf(chain, call, received, { status: opened.status, text });
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

function refuseBody<T>(chain: AttemptContext, call: Call<T>, error: unknown): never {
  if (error instanceof EtlError && !(error instanceof BadResponseError)) throw error;
  const reason = isTooDeep(error) ? 'values are nested too deep to read' : chain.withoutKey(summary(error));
  // Without a cause: a ZodError would print every issue of a page.
  throw new BadResponseError(`${call.outgoing.label}: the response is not the endpoint's: ${reason}`, {
    hint: isBug(error)
      ? 'This is a bug of toncenter-etl: please report it with this message.'
      : 'A proxy may answer instead of the API, or the API has changed: look at the response with curl.',
  });
}

/**
 * The envelope of both v2 servers. One server answers JSON-RPC with the plain envelope, the other one adds
 * `jsonrpc` and `id`. A response belongs to its request, so these members are ignored.
 */
const success = z
  .looseObject({ ok: z.literal(true).optional(), result: z.unknown() })
  .refine((body) => body.result !== undefined, 'no result in the envelope');
const failure = z.looseObject({
  ok: z.literal(false).optional(),
  code: z.number().optional(),
  error: z.union([z.string(), z.looseObject({ code: z.number().optional() })]).nullish(),
});

/** The content of an envelope: the result, or the HTTP status of its error. */
type OpenedEnvelope =
  { readonly ok: true; readonly result: unknown } | { readonly ok: false; readonly status: number };

/** Opens the body of a v2 response with status 200. Throws a ZodError if it is not an envelope. */
export function openEnvelope(body: unknown): OpenedEnvelope {
  const refusal = failure.safeParse(body);
  if (refusal.success) {
    const { ok, code, error } = refusal.data;
    const reported = error ?? undefined;
    const own = typeof reported === 'object' ? reported.code : undefined;
    if (ok === false || reported !== undefined) return { ok: false, status: statusOf(code ?? own) };
  }
  return { ok: true, result: success.parse(body).result };
}

/**
 * Maps an envelope's code to a status as the server does: -3 is the liteserver's 542, and anything that is no
 * status is 500.
 */
function statusOf(code: number | undefined): number {
  if (code === -3) return 542;
  return code !== undefined && code >= 400 && code < 600 ? code : 500;
}
