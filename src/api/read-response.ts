import * as z from 'zod';
import { isSafeNumber, LosslessNumber } from 'lossless-json';
import { printable } from '../terminal/terminal.ts';
import {
  messageOf,
  ApiFailedError,
  ApiUnavailableError,
  BadResponseError,
  type EtlError,
  NoEndpointError,
  RequestTooLargeError,
  ApiTimeoutError,
  AuthError,
  LimitRefusedError,
  NotFoundError,
  RateLimitedError,
  RequestRefusedError,
} from '../errors.ts';
import { countNames, doubledIn, noteDoubled, surveyJson } from '../dataset/declaration/record.ts';
import type { Echo } from '../dataset/paginators/paginator.ts';

const second = z.number().nullish();
const echo = z.looseObject({ start_utime: second, end_utime: second });

/**
 * The window that a v3 body says it answers, for endpoints that echo their request; empty if it says none.
 * Throws a ZodError if the body is not an object or the window is not numeric.
 */
export function echoOf(body: unknown): Echo {
  const { start_utime, end_utime } = echo.parse(body);
  return { ...(start_utime != null && { start_utime }), ...(end_utime != null && { end_utime }) };
}

/**
 * A number of more than 15 digits, or with an exponent of three: beyond 2^53 or a double's range. Numbers
 * follow a key, a bracket or a comma; the digits of addresses (`"0:6440…"`) and of lt strings do not.
 */
const DOUBTFUL_NUMBER = /(?:"\s*:|[[,])\s*-?(?:\d[\d.eE+-]{15}|\d[\d.]{0,14}[eE][+-]?\d{3})/;

/** An escape that may be NUL or half of a surrogate pair. In valid UTF-8 JSON both occur only as escapes. */
const DOUBTFUL_ESCAPE = /\\u(?:0000|[dD][89a-fA-F])/;
/** Matches escapes one by one. A whole surrogate pair is one, and so is an escaped backslash. */
const ESCAPE =
  /\\(?:u(?:0000|[dD][89abAB][\da-fA-F]{2}(?:\\u[dD][c-fC-F][\da-fA-F]{2})?|[dD][c-fC-F][\da-fA-F]{2})|.)/gs;
const HALF = /^\\u[dD][\da-fA-F]{3}$/;

/**
 * Parses the body of a response without changing a number. Integers beyond 2^53 become BigInt, other numbers
 * that a double cannot hold LosslessNumber. NUL, which Postgres cannot store, is dropped from strings, and
 * lone surrogates become U+FFFD. Duplicate members are noted (`dataset/declaration/record.ts`). A body
 * without such things, which is nearly every one, costs JSON.parse and a scan.
 * Throws BadResponseError if it is not JSON.
 */
export function parseJson(text: string): unknown {
  const { names, values } = surveyJson(text);
  requireHoldable(values);
  const isDoubtful = DOUBTFUL_NUMBER.test(text);
  const isClean = !text.includes('\\u') || !DOUBTFUL_ESCAPE.test(text);
  const clean = isClean ? text : text.replace(ESCAPE, cleaned);
  const parsed = read(clean, isDoubtful);
  if (names !== countNames(parsed)) noteDoubled(clean, parsed);
  return parsed;
}

/**
 * A v3 body that contains an error, whatever else it contains. v2's envelope always has a member for errors, and `ok`.
 */
const failed = z.looseObject({
  error: z.union([z.string().min(1), z.looseObject({})]),
  ok: z.undefined().optional(),
  jsonrpc: z.undefined().optional(),
});

/**
 * Parses a whole body.
 * @throws BadResponseError also if a member is duplicated, because one of two lists would be lost, and if it
 * contains an error, because a list next to it may lack rows
 */
export function parseBody(text: string): unknown {
  const body = parseJson(text);
  const [twice] = doubledIn(body) ?? [];
  if (twice !== undefined) throw new BadResponseError(`the body has a duplicate member ${twice}`);
  if (failed.safeParse(body).success) throw new BadResponseError(`an error (${reasonOf(text).text})`);
  return body;
}

/**
 * Maximum number of values in a body. A value takes up to 100 bytes of memory, however short its text is. No page of
 * the API has a tenth of this.
 */
const MOST_VALUES = 2 ** 21;

/** @throws RequestTooLargeError if the JSON has more values than may be in memory: half of the rows may pass */
export function requireHoldable(values: number): void {
  if (values <= MOST_VALUES) return;
  throw new RequestTooLargeError(`a body of ${values} values is too large for memory`, {
    hint: 'No page of the API has so many: a proxy may answer instead. Look at the response with curl.',
  });
}

function cleaned(escape: string): string {
  if (escape === '\\u0000') return '';
  return HALF.test(escape) ? '\\ufffd' : escape;
}

function read(text: string, isDoubtful: boolean): unknown {
  try {
    return isDoubtful ? parseExactly(text) : JSON.parse(text);
  } catch (error) {
    const reason = /^\s*[[{]/.test(text) ? `${text.length} characters of broken JSON` : excerpt(text);
    throw new BadResponseError(`${reason} (${summary(error)})`);
  }
}

/** Matches a piece of a string, or a possible number. If a closing quote is missing, the pattern does not backtrack. */
const TOKEN = /"[^"\\]*"?|\\.[^"\\]*"?|-?\d[\d.eE+-]*/gs;
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
const NAMES = /\s*:/y;
/** The second half of a surrogate pair: no string of a body begins with one. */
const MARK = '\udc00';

/**
 * Replaces numbers that a double cannot hold by marked strings while it parses. A parser that keeps all
 * numbers as text is three times slower for a page with one long number, and takes many times the memory.
 */
function parseExactly(text: string): unknown {
  const marked = text.replaceAll(TOKEN, (token, at: number) => {
    if (!NUMBER.test(token) || isSafeNumber(token)) return token;
    NAMES.lastIndex = at + token.length;
    return NAMES.test(text) ? token : `"${MARK}${token}"`;
  });
  const parsed: unknown = JSON.parse(marked);
  const whole = { parsed };
  restoreNumbers(whole);
  return whole.parsed;
}

/** Replaces the marked strings. The value may be deeply nested, so this uses no recursion. */
function restoreNumbers(whole: object): void {
  const unread = [whole];
  for (let next = unread.pop(); next !== undefined; next = unread.pop()) {
    const members: [string, unknown][] = Object.entries(next);
    for (const [name, member] of members) {
      if (typeof member === 'object' && member !== null) unread.push(member);
      if (typeof member !== 'string' || !member.startsWith(MARK)) continue;
      const value = exact(member.slice(MARK.length));
      Object.defineProperty(next, name, { value, writable: true, enumerable: true, configurable: true });
    }
  }
}

function exact(token: string): bigint | LosslessNumber {
  return /^-?\d+$/.test(token) ? BigInt(token) : new LosslessNumber(token);
}

/**
 * A parser for v3 bodies with a list: `{ [member]: [...] | null, ... }`. Returns the raw records, none for
 * null (an empty Go slice). Throws a ZodError if the member is missing or is not a list. A body of another
 * endpoint, or an error with status 200, must not pass as an empty list.
 */
export function listOf(member: string): (body: unknown) => unknown[] {
  const schema = z.looseObject({ [member]: z.array(z.unknown()).nullable() });
  return (body) => {
    const list = schema.parse(body)[member];
    return Array.isArray(list) ? list : [];
  };
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

const MAX_LENGTH = 300;

/** Every form of error that the servers and their gateways are known to send. */
const errorBody = z.looseObject({
  error: z.union([z.string(), z.looseObject({ message: z.string() })]).optional(),
  result: z.unknown().optional(),
  message: z.string().optional(),
  detail: z.unknown().optional(),
  title: z.unknown().optional(),
});

/** The error text of a body. */
export interface Reason {
  /** True if the body is JSON with an error text, as the API sends it; false for pages of gateways. */
  readonly own: boolean;
  /** One short line. */
  readonly text: string;
}

/** Extracts the error text of a response without success. Never throws. */
export function reasonOf(body: string): Reason {
  const text = ownText(body);
  return text === undefined ? { own: false, text: excerpt(body) } : { own: true, text: oneLine(text) };
}

/** The beginning of a body that the API did not send, as one short line. */
export function excerpt(body: string): string {
  if (body.trim() === '') return 'an empty body';
  if (!/^\s*</.test(body)) return oneLine(body.slice(0, 2 * MAX_LENGTH));
  const title = /<(title|h1)[^>]*>([^<]*)</i.exec(body.slice(0, 10_000))?.[2];
  return title === undefined ? 'an HTML page' : `an HTML page "${oneLine(title)}"`;
}

/** The first issue of a schema's error, with its path; the message of any other error. */
export function summary(error: unknown): string {
  if (error instanceof z.ZodError) {
    const [issue] = error.issues;
    const path = issue?.path.map(String).join('.') ?? '';
    return oneLine(`${path === '' ? 'the body' : path}: ${issue?.message ?? 'does not fit'}`);
  }
  return oneLine(messageOf(error));
}

function ownText(body: string): string | undefined {
  const parsed = errorBody.safeParse(jsonOrNothing(body));
  if (!parsed.success) return undefined;
  const { error, result, message, detail, title } = parsed.data;
  if (typeof error === 'string') return error;
  // Recorded 429s have their text in `result`. Frameworks put theirs in `detail` (Python) or `title` (RFC 9457).
  return error?.message ?? [result, message, detail, title].find((text) => typeof text === 'string');
}

function jsonOrNothing(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

function oneLine(text: string): string {
  const line = printable(text.replaceAll(/\s+/g, ' ').trim());
  return line.length > MAX_LENGTH ? `${line.slice(0, MAX_LENGTH)}…` : line;
}

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
  /^(?:internal server error: )?(?:404:? )?(?:(?:page|resource|url) )?(?:not[ _-]?found|does not exist)[.!]?$/i;

/** The same with the name of the path or method, such as Fastify's, Kong's and JSON-RPC's. */
const NAMES_ROUTE =
  /^(?:internal server error: )?(?:(?:no|unknown|invalid) (?:such )?(?:route|endpoint|method|handler)\b|(?:the )?(?:route|endpoint|method|path)\b.{0,200}\b(?:not found|doe(?:s not|sn't) exist)\b)/i;

const BARE_NO_METHOD =
  /^(?:internal server error: )?(?:405:? |501:? )?(?:method not allowed|not implemented)[.!]?$/i;

/** The characters of a page that are searched. */
const LONGEST_PAGE = 10_000;

/** The method is not allowed, gone or not implemented. This program only sends GET, which all of its endpoints accept. */
const NO_METHOD = new Set([405, 410, 501]);

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
  if (!reason.own) return pageError(refusal, message);
  return status === 404 ? new NotFoundError(message) : requestRefused(message, reason);
}

/** True if the response says that the server lacks the endpoint, in any form that servers use. */
function lacksRoute({ status, body, apiVersion }: RefusedResponse, { own, text }: Reason): boolean {
  if (NO_METHOD.has(status)) return own || apiVersion !== undefined;
  if (own && BARE_NO_METHOD.test(text)) return true;
  if (NO_ROUTE.test(own ? text : body.slice(0, LONGEST_PAGE))) return true;
  if (saysMissing({ own, text })) return status === 404 || status === 500;
  return !own && status === 404 && apiVersion !== undefined;
}

function saysMissing({ own, text }: Reason): boolean {
  return BARE_NOT_FOUND.test(text) || (own && NAMES_ROUTE.test(text));
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
