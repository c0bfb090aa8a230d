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
import type { Attempt, Exchange } from './exchange.ts';
import type { KeyGuard } from './response/key-guard.ts';
import { parseBody } from './response/parse-json.ts';
import type { Prepared } from './prepare.ts';
import { summary, reasonOf, type Reason } from './response/reason.ts';
import type { ApiFacts } from './server-facts.ts';
import type { CountingStats } from './stats.ts';
import type { ApiResponse, ResponseHead, Transport } from './transport.ts';

/** A response that is not a success. */
interface RefusedResponse {
  readonly status: number;
  readonly body: string;
  /** For the message: `GET /api/v3/blocks`. */
  readonly label: string;
  readonly path: string;
  /** Whom the request was sent to, for the hints. */
  readonly host: string;
  readonly retryAfterMs: number | undefined;
  /** The server's `X-API-Version`: pages of gateways have none. */
  readonly apiVersion: string | undefined;
}

/** These wrap every failure of theirs as 422, also the database's timeout. */
const TIMEOUT_AS_422 = /\/(accountStates|walletStates|dns\/records)$/;
const TIMEOUT = /time(d )?-?out|deadline/i;
/** Build 1.2 answers 500 to parameters that it will never take. */
const PERMANENT_500 = /limit is not allowed|wrong value for sort/i;
const LIMIT_REFUSED = /limit is not allowed: \d+ > (\d+)/i;
/** The web framework's 404, which the server wraps as 500: a method and a path, the latter of v3 without a slash. */
const NO_ROUTE = /\bCannot (?:GET|HEAD|POST|PUT) [^\s<"]+\s*(?:$|<)/;
/** What web frameworks say of a path that they do not know, and of nothing else: a 404 of data names what is not there. */
const BARE_NOT_FOUND =
  /^(?:internal server error: )?(?:404:? )?(?:page |route |path |method |endpoint )?(?:not found|does not exist)[.!]?$/i;
const BARE_NO_METHOD =
  /^(?:internal server error: )?(?:405:? |501:? )?(?:method not allowed|not implemented)[.!]?$/i;
/** Of a page so many characters are searched. */
const LONGEST_PAGE = 10_000;
/** The method is not allowed, or not implemented: this program only sends GET, which all of its endpoints take. */
const NO_METHOD = new Set([405, 501]);
/** 413, 414 and 431 are a gateway's: the list of addresses was too long, and half of it may pass. */
const TOO_LARGE = new Set([413, 414, 431]);
const COMES_BACK = new Set([408, 425]);

/**
 * What a response that is not 200 means for the caller. Statuses lie (401 for a missing parameter, 422 or 500 for a
 * timeout, 500 for a bad parameter, 429 in several shapes), so this is the one place that reads them.
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
    hint: `${refusal.host} does not answer by itself: check TONCENTER_NETWORK.`,
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
  if (TOO_LARGE.has(status)) return new RequestTooLargeError(message, { hint: 'Ask for less at once.' });
  if (COMES_BACK.has(status)) return new ApiUnavailableError(message, { hint: AWAY_HINT });
  if (lacksRoute(refusal, reason)) return new NoEndpointError(message, { hint: NO_ROUTE_HINT });
  return reason.own ? ownError(status, message, reason) : pageError(refusal, message);
}

/** True where the response says that the server has no such endpoint, in one of the forms that servers have for it. */
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

/** What is no answer of the API: a page of the server itself, or one of a gateway, perhaps for a while. */
function pageError({ apiVersion }: RefusedResponse, message: string): EtlError {
  return apiVersion === undefined
    ? new ApiFailedError(message, { hint: GATEWAY_HINT })
    : new RequestRefusedError(message);
}

function requestRefused(message: string, { text }: Reason): RequestRefusedError {
  const most = LIMIT_REFUSED.exec(text)?.[1];
  return most === undefined ? new RequestRefusedError(message) : new LimitRefusedError(message, Number(most));
}

/** What to do about the key; undefined where the key is not the matter. A 401 may speak of a missing parameter. */
function authHint({ status, host }: RefusedResponse, reason: Reason): string | undefined {
  if (status === 401 && !(reason.own && / required/i.test(reason.text)))
    return `Check TONCENTER_API_KEY: ${host} does not know it. A key belongs to one network (TONCENTER_NETWORK).`;
  if (status === 403 && reason.own)
    return `Check that TONCENTER_API_KEY was issued for the network of ${host} (TONCENTER_NETWORK).`;
  return undefined;
}

const RATE_HINT =
  'Lower TONCENTER_RPS, or see who else uses the key: the limit counts all processes of a network.';
const AWAY_HINT = 'The API is in trouble; what was read is kept. Try again later.';
const GATEWAY_HINT = 'A gateway answers for the API, perhaps for a while: open the URL in a browser.';
const TIMEOUT_HINT =
  'The server gives each query three seconds, which did not suffice: it is busy; try again later.';
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
  /** Takes the key out of a text, however it is spelled there. */
  readonly withoutKey: (text: string) => string;
  /** The same of data, which must not change by chance. */
  readonly key: KeyGuard;
  readonly onExchange: ((attempt: Attempt) => void) | undefined;
  /** What the server has said of its endpoints. */
  readonly facts: Pick<ApiFacts, 'answered' | 'mayAnswer'>;
  /** Where responses are kept, if they are. */
  readonly recorder: Pick<Recorder, 'record'> | undefined;
}

/** A prepared request and how its response is read. */
export type Call<T> = CallFacts & BodyReading<T>;

/** How a body becomes a value. What it throws makes the response a bad one, which is tried again. */
export type BodyReading<T> =
  | {
      /** Reads the parsed body (of v2: the result), and learns the limit that was sent, which may be less than was wanted. */
      readonly parse: (body: unknown, limit: number | undefined) => T;
      readonly readBytes?: never;
    }
  | { readonly readBytes: ReadBytes<T>; readonly parse?: never };

/** Reads a body as it came, some milliseconds at a time. */
export type ReadBytes<T> = (body: Buffer, how: BytesReading) => Promise<T>;

export interface BytesReading {
  readonly limit: number | undefined;
  /** Waits until it may take its time in this thread: see `Flight.turn`. */
  readonly turn: () => Promise<void>;
}

interface CallFacts extends Prepared {
  readonly priority: Priority;
  /** The caller's own, who ends it. */
  readonly flight?: Flight | undefined;
  /** The rows that it asks for, where it says. */
  readonly limit: number | undefined;
  /** Attempts at what may never be answered well; left out: as many as usual. */
  readonly attemptsInDoubt?: number | undefined;
  /** True where the body is v2's envelope and `parse` reads its result. */
  readonly envelope: boolean;
}

interface AttemptSignals {
  readonly signal: AbortSignal;
  /** Ends the wait for a slot: nothing is in hand in it. */
  readonly waiting: AbortSignal;
}

/** One attempt: a slot, a send, the status, the body. Throws what `transport`, `errorOfStatus` and the parsers throw. */
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

/** True where the source is overloaded or away. */
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

/** Nothing of a body goes further with the key in it, in whichever form a server repeats it. */
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

/** Reports to the budget as soon as the status is known, so that a 429 stops the others before its body is read. */
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
  // One of several servers may be of an older build, or being deployed.
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

/** Reading or writing deeply nested JSON exhausts the stack. */
function isTooDeep(error: unknown): boolean {
  return error instanceof RangeError && /call stack/i.test(error.message);
}

/** What no response causes: the page is refused as a bad one, so that it does not end a daemon, and the log says why. */
function isBug(error: unknown): boolean {
  return error instanceof TypeError || error instanceof ReferenceError;
}

function refuseBody<T>(chain: AttemptContext, call: Call<T>, error: unknown): never {
  if (error instanceof EtlError && !(error instanceof BadResponseError)) throw error;
  const reason = isTooDeep(error)
    ? 'values are nested too deep to be read'
    : chain.withoutKey(summary(error));
  // No cause: a ZodError prints every issue of a page.
  throw new BadResponseError(`${call.outgoing.label}: the response is not the endpoint's: ${reason}`, {
    hint: isBug(error)
      ? 'This is a bug of toncenter-etl: please report it with this message.'
      : 'A proxy may answer for the API, or the API has changed: look at the response with curl.',
  });
}

/**
 * The envelope of both v2 servers. One of them answers JSON-RPC with the plain envelope and no `id`, the other adds
 * `jsonrpc` and `id`: a response is known by its request, never by its id, so neither is looked at.
 */
const success = z
  .looseObject({ ok: z.literal(true).optional(), result: z.unknown() })
  .refine((body) => body.result !== undefined, 'no result in the envelope');
const failure = z.looseObject({
  ok: z.literal(false).optional(),
  code: z.number().optional(),
  error: z.union([z.string(), z.looseObject({ code: z.number().optional() })]).nullish(),
});

/** What an envelope holds: the result, or the HTTP status that its error stands for. */
type OpenedEnvelope =
  { readonly ok: true; readonly result: unknown } | { readonly ok: false; readonly status: number };

/** Opens the body of a v2 response that came with status 200. Throws a ZodError for what is no envelope. */
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

/** The server's own mapping of an envelope's code to a status: -3 is the liteserver's 542, what is no status is 500. */
function statusOf(code: number | undefined): number {
  if (code === -3) return 542;
  return code !== undefined && code >= 400 && code < 600 ? code : 500;
}
