import * as z from 'zod';
import { isSafeNumber, LosslessNumber } from 'lossless-json';
import { countNames, doubledIn, noteDoubled, surveyJson } from '../../dataset/declaration/record.ts';
import { BadResponseError, RequestTooLargeError } from '../../errors.ts';
import { excerpt, reasonOf, summary } from './refused-response.ts';
import type { Echo } from '../../dataset/paginators/paginator.ts';

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
