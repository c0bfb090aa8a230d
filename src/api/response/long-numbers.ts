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
export function mayHoldLongNumber(json: Uint8Array): boolean {
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
