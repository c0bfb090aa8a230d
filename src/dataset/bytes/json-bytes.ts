/*
 * Finds the ends of JSON values in the bytes of a body. Only the ends: the code that parses a value finds out
 * whether it is valid.
 */

export const QUOTE = 34;
export const COMMA = 44;
export const COLON = 58;
export const OPEN_LIST = 91;
export const CLOSE_LIST = 93;
export const OPEN = 123;
export const CLOSE = 125;
export const MINUS = 45;
export const LETTER_F = 102;
export const LETTER_N = 110;
export const LETTER_T = 116;
const SPACE = 32;
export const ZERO = 48;
const NINE = 57;
export const BACKSLASH = 92;

/** No end was found. */
export const NOWHERE = -1;

/** Integers of this many digits are exact in JavaScript, and are printed unchanged. */
const MOST_DIGITS = 15;

/** The end of a word, or of a short integer that JavaScript parses and prints unchanged. */
export function plainEnd(bytes: Uint8Array, start: number): number {
  const first = bytes[start] ?? 0;
  const word = WORDS.get(first);
  return word === undefined
    ? numberEnd(bytes, start, first === MINUS ? start + 1 : start)
    : wordEnd(bytes, start, word);
}

function numberEnd(bytes: Uint8Array, start: number, digits: number): number {
  let at = digits;
  while (isDigit(bytes[at])) at += 1;
  if (at === digits || at - digits > MOST_DIGITS || GOES_ON.has(bytes[at] ?? 0)) return NOWHERE;
  // JSON has no leading zeros, and -0 is printed as 0.
  return bytes[digits] === ZERO && at - start > 1 ? NOWHERE : at;
}

/** After digits, these bytes belong to the number: a fraction, an exponent. */
const GOES_ON: ReadonlySet<number> = new Set(Buffer.from('.eE+-'));
const WORDS: ReadonlyMap<number, Uint8Array> = new Map(
  ['true', 'false', 'null'].map((word) => [word.charCodeAt(0), Buffer.from(word)]),
);

function wordEnd(bytes: Uint8Array, start: number, word: Uint8Array): number {
  for (let index = 0; index < word.length; index += 1)
    if (bytes[start + index] !== word[index]) return NOWHERE;
  return start + word.length;
}

function isDigit(byte = 0): boolean {
  return byte >= ZERO && byte <= NINE;
}

/** The end of any value. */
export function valueEnd(bytes: Uint8Array, start: number): number {
  const first = bytes[start];
  if (first === QUOTE) return stringEnd(bytes, start);
  return first === OPEN || first === OPEN_LIST ? partsEnd(bytes, start) : tokenEnd(bytes, start);
}

/** The first byte at or after a position that is not white space. */
export function skipSpace(bytes: Uint8Array, start: number): number {
  let at = start;
  while (SPACES.has(bytes[at] ?? 0)) at += 1;
  return at;
}

const SPACES: ReadonlySet<number> = new Set([9, 10, 13, SPACE]);

function stringEnd(bytes: Uint8Array, start: number): number {
  for (let at = start + 1; at < bytes.length; at += 1) {
    if (bytes[at] === QUOTE) return at + 1;
    if (bytes[at] === BACKSLASH) at += 1;
  }
  return NOWHERE;
}

function partsEnd(bytes: Uint8Array, start: number): number {
  let depth = 0;
  let at = start;
  while (at !== NOWHERE && at < bytes.length) {
    const byte = bytes[at] ?? 0;
    depth += DEPTHS[byte] ?? 0;
    if (depth === 0) return at + 1;
    at = byte === QUOTE ? stringEnd(bytes, at) : at + 1;
  }
  return NOWHERE;
}

/** How much a byte changes the nesting depth. */
const DEPTHS = Int8Array.from({ length: 2 ** 8 }, (_, byte) => {
  if (byte === OPEN || byte === OPEN_LIST) return 1;
  return byte === CLOSE || byte === CLOSE_LIST ? -1 : 0;
});

function tokenEnd(bytes: Uint8Array, start: number): number {
  let at = start;
  while (at < bytes.length && !ENDS.has(bytes[at] ?? SPACE)) at += 1;
  return at > start ? at : NOWHERE;
}

const ENDS: ReadonlySet<number> = new Set([...SPACES, COMMA, CLOSE, CLOSE_LIST]);

/** Consecutive bytes of one kind, with their minimum and maximum number. */
export interface Run {
  /** 1 for each byte of the kind. */
  readonly kind: Uint8Array;
  readonly least: number;
  readonly most: number;
}

/** No upper bound. */
export const MANY = 2 ** 30;

/** Any JSON string that contains no escapes. */
export const ANY_TEXT: readonly (readonly Run[])[] = [
  [{ kind: kindWhere(() => true), least: 0, most: MANY }],
];

/** The end of a text that matches one of the rows and is followed by a quote; NOWHERE if no row matches. */
export function textEnd(bytes: Uint8Array, start: number, rows: readonly (readonly Run[])[]): number {
  for (let index = 0; index < rows.length; index += 1) {
    const at = rowEnd(bytes, start, rows[index] ?? []);
    if (at !== NOWHERE && bytes[at] === QUOTE) return at;
  }
  return NOWHERE;
}

function rowEnd(bytes: Uint8Array, start: number, runs: readonly Run[]): number {
  let at = start;
  for (let index = 0; index < runs.length && at !== NOWHERE; index += 1) {
    const run = runs[index];
    if (run !== undefined) at = runEnd(bytes, at, run);
  }
  return at;
}

/**
 * Tests four bytes at a time while there are four. It uses no closures, because it is called for each part of
 * each text.
 */
export function runEnd(bytes: Uint8Array, start: number, { kind, least, most }: Run): number {
  const until = Math.min(start + most, bytes.length);
  let at = start;
  while (
    at + 4 <= until &&
    (isOf(kind, bytes[at]) &
      isOf(kind, bytes[at + 1]) &
      isOf(kind, bytes[at + 2]) &
      isOf(kind, bytes[at + 3])) ===
      1
  )
    at += 4;
  while (at < until && isOf(kind, bytes[at]) === 1) at += 1;
  return at - start < least ? NOWHERE : at;
}

function isOf(kind: Uint8Array, byte = 0): number {
  return kind[byte] ?? 0;
}

/** The kind of the bytes whose character passes the test. Bytes beyond ASCII may be parts of a character. */
export function kindWhere(isOfKind: (character: string) => boolean): Uint8Array {
  return Uint8Array.from({ length: 2 ** 8 }, (_, byte) => {
    const stands = byte >= 32 && byte !== QUOTE && byte !== BACKSLASH;
    return stands && isOfKind(String.fromCharCode(byte)) ? 1 : 0;
  });
}

/** The patterns that a text may match: each is a sequence of runs. */
interface Runs {
  readonly runs: readonly (readonly Run[])[];
  readonly encoding: 'utf8' | 'latin1';
}

export const ANY: Runs = { runs: ANY_TEXT, encoding: 'utf8' };

/** A character or a class of characters, with a quantifier. */
const PART = /(\[[^\]^]+\]|\\[d$/.]|[\w:+=$,-])(?:([?*+])|\{(\d+)(?:(,)(\d*))?\})?/y;
/** The first group of alternatives without a quantifier and without nested groups. */
const ALTERNATIVES = /^(.*?)\(\?:([^()]*)\)(?![?*+{])(.*)$/;
const TIMES: Readonly<Record<string, Pick<Run, 'least' | 'most'>>> = {
  '?': { least: 0, most: 1 },
  '*': { least: 0, most: MANY },
  '+': { least: 1, most: MANY },
};

/**
 * The runs of ASCII bytes that a regular expression stands for, one sequence for each alternative. Text that
 * matches a sequence greedily also matches the expression; other text may match it, too. Undefined if the
 * expression contains anything but characters, classes and alternatives.
 */
export function runsOf({ source, flags }: RegExp): Runs | undefined {
  if (flags !== '' || !/^\^.*[^\\]\$$/.test(source)) return undefined;
  const rows = alternativesOf(source.slice(1, -1)).map(runsIn);
  const runs = rows.filter((row) => row !== undefined);
  return runs.length === rows.length ? { runs, encoding: 'latin1' } : undefined;
}

function alternativesOf(source: string): string[] {
  const group = ALTERNATIVES.exec(source);
  if (group === null) return [source];
  const [, before = '', inner = '', after = ''] = group;
  return inner.split('|').flatMap((one) => alternativesOf(before + one + after));
}

function runsIn(source: string): Run[] | undefined {
  const runs: Run[] = [];
  for (let at = 0; at < source.length; at = PART.lastIndex) {
    PART.lastIndex = at;
    const found = PART.exec(source);
    if (found === null) return undefined;
    const [, part = '', sign, least = '1', more, most] = found;
    const expression = new RegExp(`^${part}$`);
    // A byte beyond ASCII is a part of a character.
    const kind = kindWhere((character) => character <= '\u007f' && expression.test(character));
    const counted = {
      least: Number(least),
      most: more === undefined ? Number(least) : Number(most || MANY),
    };
    runs.push({ kind, ...(TIMES[sign ?? ''] ?? counted) });
  }
  return runs;
}

/** Values that are nested deeper, or have more names in the enclosing objects, are parsed. */
const DEEPEST = 32;
const MOST_NAMES = 64;

/** lossless-json prints an object with this member as a number. */
const NUMBER_MARK = Buffer.from('isLosslessNumber');

/**
 * Finds JSON values that would not change if they were parsed and printed again: compact, without escapes, with numbers
 * that JavaScript can hold, and with members whose order it keeps. It recognizes most such values, but no others.
 */
export class SameJson {
  private readonly bytes: Uint8Array;
  /** The starts and lengths of the names in the objects around the current byte. */
  private readonly names = new Int32Array(2 * MOST_NAMES);
  private used = 0;
  private depth = 0;
  private at = 0;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }

  /** The end of the value that begins at `start`; NOWHERE if it would change. */
  endOf(start: number): number {
    [this.at, this.used, this.depth] = [start, 0, 0];
    return this.value() ? this.at : NOWHERE;
  }

  private value(): boolean {
    const first = this.bytes[this.at];
    if (first === QUOTE) return this.text();
    if (first === OPEN) return this.object();
    return first === OPEN_LIST ? this.list() : this.passTo(plainEnd(this.bytes, this.at));
  }

  private text(): boolean {
    const end = textEnd(this.bytes, this.at + 1, ANY_TEXT);
    return this.passTo(end === NOWHERE ? end : end + 1);
  }

  private list(): boolean {
    this.at += 1;
    if (this.passes(CLOSE_LIST)) return true;
    this.depth += 1;
    if (this.depth > DEEPEST) return false;
    do if (!this.value()) return false;
    while (this.passes(COMMA));
    this.depth -= 1;
    return this.passes(CLOSE_LIST);
  }

  private object(): boolean {
    this.at += 1;
    if (this.passes(CLOSE)) return true;
    const first = this.used;
    this.depth += 1;
    if (this.depth > DEEPEST) return false;
    do if (!this.name(first) || !this.passes(COLON) || !this.value()) return false;
    while (this.passes(COMMA));
    this.depth -= 1;
    this.used = first;
    return this.passes(CLOSE);
  }

  /**
   * Reads a name that its object does not have yet. The names of the object begin at `first`. A name that
   * begins with a digit may be an index.
   */
  private name(first: number): boolean {
    const { bytes, names, used } = this;
    const start = this.at + 1;
    if (bytes[this.at] !== QUOTE || isDigit(bytes[start]) || !this.text()) return false;
    const length = this.at - 1 - start;
    for (let other = first; other < used; other += 2)
      if (names[other + 1] === length && this.isSame(names[other] ?? 0, start, length)) return false;
    names[used] = start;
    names[used + 1] = length;
    this.used += 2;
    const isMark = length === NUMBER_MARK.length && NUMBER_MARK.equals(bytes.subarray(start, start + length));
    return this.used < names.length && !isMark;
  }

  private isSame(one: number, other: number, length: number): boolean {
    const { bytes } = this;
    let index = 0;
    while (index < length && bytes[one + index] === bytes[other + index]) index += 1;
    return index === length;
  }

  private passTo(end: number): boolean {
    if (end === NOWHERE) return false;
    this.at = end;
    return true;
  }

  private passes(byte: number): boolean {
    if (this.bytes[this.at] !== byte) return false;
    this.at += 1;
    return true;
  }
}
