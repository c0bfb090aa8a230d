import * as z from 'zod';
import { isSafeNumber, LosslessNumber } from 'lossless-json';
import { countNames, doubledIn, noteDoubled, surveyJson } from '../../dataset/declaration/doubled.ts';
import { BadResponseError, RequestTooLargeError } from '../../errors.ts';
import { excerpt, reasonOf, summary } from './reason.ts';

/**
 * A number token of more than 15 digits or with an exponent of three: beyond 2^53 or a double's reach. Numbers stand behind a key, a bracket or a
 * comma; the digits of addresses (`"0:6440…"`) and of lt strings do not.
 */
const DOUBTFUL_NUMBER = /(?:"\s*:|[[,])\s*-?(?:\d[\d.eE+-]{15}|\d[\d.]{0,14}[eE][+-]?\d{3})/;

/** An escape that may be NUL or half of a surrogate pair. Neither can stand unescaped in valid UTF-8 JSON. */
const DOUBTFUL_ESCAPE = /\\u(?:0000|[dD][89a-fA-F])/;
/** Escapes, one after the other: a whole surrogate pair is one, and so is an escaped backslash. */
const ESCAPE =
  /\\(?:u(?:0000|[dD][89abAB][\da-fA-F]{2}(?:\\u[dD][c-fC-F][\da-fA-F]{2})?|[dD][c-fC-F][\da-fA-F]{2})|.)/gs;
const HALF = /^\\u[dD][\da-fA-F]{3}$/;

/**
 * Parses the body of a response without changing a number. Integers beyond 2^53 come as BigInt, other numbers that a
 * double cannot hold as LosslessNumber; NUL, which Postgres takes nowhere, is dropped from strings, and lone
 * surrogates become U+FFFD. Members that come twice are noted (`dataset/doubled.ts`). A body without such things, which is
 * nearly every one, costs JSON.parse and a look at each byte and each object.
 *
 * `bytes` is the text as it came, where it is at hand: it is searched faster. Throws BadResponseError for what is not JSON.
 */
export function parseJson(text: string, bytes?: Uint8Array): unknown {
  const { names, values } = surveyJson(text);
  requireHoldable(values);
  const isDoubtful = (bytes === undefined || mayHoldLongNumber(bytes)) && DOUBTFUL_NUMBER.test(text);
  const isClean = !text.includes('\\u') || !DOUBTFUL_ESCAPE.test(text);
  const clean = isClean ? text : text.replace(ESCAPE, cleaned);
  const parsed = read(clean, isDoubtful);
  if (names !== countNames(parsed)) noteDoubled(clean, parsed);
  return parsed;
}

/** A body of v3 that names an error, whatever stands beside it. v2's envelope always has a member for errors, and `ok`. */
const failed = z.looseObject({
  error: z.union([z.string().min(1), z.looseObject({})]),
  ok: z.undefined().optional(),
  jsonrpc: z.undefined().optional(),
});

/**
 * Parses a whole body.
 * @throws BadResponseError also for one of whose members one comes twice: of a list that does, one would be lost; and for one
 * that names an error: a list beside it may lack rows
 */
export function parseBody(text: string, bytes?: Uint8Array): unknown {
  const body = parseJson(text, bytes);
  const [twice] = doubledIn(body) ?? [];
  if (twice !== undefined) throw new BadResponseError(`${twice} comes twice in the body`);
  if (failed.safeParse(body).success) throw new BadResponseError(`an error (${reasonOf(text).text})`);
  return body;
}

/** A value takes up to 100 bytes of memory, however few it takes in a text. Of all pages of the API, none has a tenth of this. */
const MOST_VALUES = 2 ** 21;

/** @throws RequestTooLargeError for JSON of more values than may be held in memory: half of the rows may be fewer */
export function requireHoldable(values: number): void {
  if (values <= MOST_VALUES) return;
  throw new RequestTooLargeError(`a body of ${values} values, more than are held in memory`, {
    hint: 'No page of the API has so many: a proxy may answer for it. Look at the response with curl.',
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

/** A piece of a string, or what may be a number. Where the end of a string is missing, nothing is looked for again. */
const TOKEN = /"[^"\\]*"?|\\.[^"\\]*"?|-?\d[\d.eE+-]*/gs;
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
const NAMES = /\s*:/y;
/** The second half of a surrogate pair: no string of a body begins with one. */
const MARK = '\udc00';

/**
 * Numbers that a double cannot hold are strings with a mark meanwhile. A parser that keeps all numbers as text takes three
 * times as long for a page in which one of them is long, and many times the memory.
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

/** It may be deep, so the walk uses no stack. */
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

const SPACE = 32;
const QUOTE = 34;
const COMMA = 44;
const COLON = 58;
const BRACKET = 91;

/** For each byte: 1 for one that numbers are made of, 3 for the letter before an exponent. */
const KINDS = Uint8Array.from({ length: 2 ** 8 }, (_, byte) => {
  const character = String.fromCharCode(byte);
  return Number(/[\d.eE+-]/.test(character)) + 2 * Number(/[eE]/.test(character));
});

/** The shortest number that is doubtful is `1e400`, so every such stretch of bytes has one of each five. */
const SHORTEST = 5;
const LONG = 16;

/**
 * False for JSON in which no number is long or has an exponent, as nearly every page is; true where one may be. Most bytes
 * are never looked at, which takes half the time of an expression.
 */
function mayHoldLongNumber(json: Uint8Array): boolean {
  for (let at = SHORTEST - 1; at < json.length; at += SHORTEST) {
    if (KINDS[json[at] ?? 0] === 0) continue;
    const from = startOf(json, at);
    const to = endOf(json, at);
    if (isLong(json, from, to) && isNumber(json, from)) return true;
    at = to;
  }
  return false;
}

/** The first byte of the stretch that a byte is in. */
function startOf(json: Uint8Array, within: number): number {
  let at = within;
  while (at > 0 && KINDS[json[at - 1] ?? 0] !== 0) at -= 1;
  return at;
}

/** The byte behind the stretch that a byte is in. */
function endOf(json: Uint8Array, within: number): number {
  let at = within + 1;
  while (at < json.length && KINDS[json[at] ?? 0] !== 0) at += 1;
  return at;
}

function isLong(json: Uint8Array, from: number, to: number): boolean {
  if (to - from >= LONG) return true;
  for (let at = from; at < to; at += 1) if (KINDS[json[at] ?? 0] === 3) return to - from >= SHORTEST;
  return false;
}

/** True behind a bracket, a comma, or a colon behind a quote: the digits of addresses stand behind other ones. */
function isNumber(json: Uint8Array, from: number): boolean {
  const before = skipSpaces(json, from);
  const byte = json[before];
  return byte === BRACKET || byte === COMMA || (byte === COLON && json[skipSpaces(json, before)] === QUOTE);
}

/** The last byte before a place that is no space. */
function skipSpaces(json: Uint8Array, from: number): number {
  let at = from - 1;
  while ((json[at] ?? QUOTE) <= SPACE) at -= 1;
  return at;
}
