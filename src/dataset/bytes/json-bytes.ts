/*
 * Where values of JSON end, in the bytes of a body. Only the ends are looked for: whoever takes the value parses it, and
 * finds out whether it is one.
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

/** No end. */
export const NOWHERE = -1;

/** Whole numbers of so many digits are the same in JavaScript, and are printed alike. */
const MOST_DIGITS = 15;

/** The end of a word, or of a number that JavaScript has and prints as it stands: of whole ones, and short. */
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

/** Behind digits these belong to the number: a fraction, an exponent. */
const GOES_ON: ReadonlySet<number> = new Set(Buffer.from('.eE+-'));
const WORDS: ReadonlyMap<number, Uint8Array> = new Map(
  ['true', 'false', 'null'].map((word) => [word.charCodeAt(0), Buffer.from(word)]),
);

function wordEnd(bytes: Uint8Array, start: number, word: Uint8Array): number {
  for (let index = 0; index < word.length; index += 1)
    if (bytes[start + index] !== word[index]) return NOWHERE;
  return start + word.length;
}

export function isDigit(byte = 0): boolean {
  return byte >= ZERO && byte <= NINE;
}

/** The end of any value. `plainly`: nowhere for one with a number that JavaScript may not have or print alike. */
export function valueEnd(bytes: Uint8Array, start: number, plainly: boolean): number {
  const first = bytes[start];
  if (first === QUOTE) return stringEnd(bytes, start);
  if (first === OPEN || first === OPEN_LIST) return partsEnd(bytes, start, plainly);
  return plainly ? plainEnd(bytes, start) : tokenEnd(bytes, start);
}

function stringEnd(bytes: Uint8Array, start: number): number {
  for (let at = start + 1; at < bytes.length; at += 1) {
    if (bytes[at] === QUOTE) return at + 1;
    if (bytes[at] === BACKSLASH) at += 1;
  }
  return NOWHERE;
}

function partsEnd(bytes: Uint8Array, start: number, plainly: boolean): number {
  let depth = 0;
  let at = start;
  while (at !== NOWHERE && at < bytes.length) {
    const byte = bytes[at] ?? 0;
    depth += DEPTHS[byte] ?? 0;
    if (depth === 0) return at + 1;
    if (byte === QUOTE) at = stringEnd(bytes, at);
    else at = plainly && (byte === MINUS || isDigit(byte)) ? plainEnd(bytes, at) : at + 1;
  }
  return NOWHERE;
}

/** By how much a byte changes how deep what follows is. */
const DEPTHS = Int8Array.from({ length: 2 ** 8 }, (_, byte) => {
  if (byte === OPEN || byte === OPEN_LIST) return 1;
  return byte === CLOSE || byte === CLOSE_LIST ? -1 : 0;
});

function tokenEnd(bytes: Uint8Array, start: number): number {
  let at = start;
  while (at < bytes.length && !ENDS.has(bytes[at] ?? SPACE)) at += 1;
  return at > start ? at : NOWHERE;
}

const ENDS: ReadonlySet<number> = new Set([9, 10, 13, SPACE, COMMA, CLOSE, CLOSE_LIST]);
