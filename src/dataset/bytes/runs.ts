import { BACKSLASH, NOWHERE, QUOTE } from './json-bytes.ts';

/** So many bytes of one kind, one behind the other. */
export interface Run {
  /** For each byte 1 where it is of the kind. */
  readonly kind: Uint8Array;
  readonly least: number;
  readonly most: number;
}

/** As many as there are. */
const MANY = 2 ** 30;

/** All that a string of JSON holds as it stands: nothing that ends it, is escaped, or has to be. */
export const ANY_TEXT: readonly (readonly Run[])[] = [
  [{ kind: kindWhere(() => true), least: 0, most: MANY }],
];

/** A character or a class of characters, and how often it comes. */
const PART = /(\[[^\]^]+\]|\\[d$/.]|[\w:+=$,-])(?:([?*+])|\{(\d+)(?:(,)(\d*))?\})?/y;
/** The first group of alternatives that comes once, and has no group in it. */
const ALTERNATIVES = /^(.*?)\(\?:([^()]*)\)(?![?*+{])(.*)$/;
const TIMES: Readonly<Record<string, Pick<Run, 'least' | 'most'>>> = {
  '?': { least: 0, most: 1 },
  '*': { least: 0, most: MANY },
  '+': { least: 1, most: MANY },
};

/** The end of text that agrees with one of the rows, where a quote stands; NOWHERE where it agrees with none. */
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

/** Four bytes at a time, as long as there are four. Without closures: it is called for each part of each text. */
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

/**
 * The runs of bytes that an expression stands for, one row for each of its alternatives. Text that agrees with a row,
 * each run as long as it can be, is text that the expression takes; other text it may still take. Undefined for an
 * expression that is not made of characters, classes and alternatives alone.
 */
export function runsOf({ source, flags }: RegExp): readonly (readonly Run[])[] | undefined {
  if (flags !== '' || !/^\^.*[^\\]\$$/.test(source)) return undefined;
  const rows = alternativesOf(source.slice(1, -1)).map(runsIn);
  const known = rows.filter((row) => row !== undefined);
  return known.length === rows.length ? known : undefined;
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
    const kind = kindWhere((character) => expression.test(character));
    const counted = {
      least: Number(least),
      most: more === undefined ? Number(least) : Number(most || MANY),
    };
    runs.push({ kind, ...(TIMES[sign ?? ''] ?? counted) });
  }
  return runs;
}

/** Of ASCII alone, but for text of every kind: there a byte may be a part of a character. */
function kindWhere(isOfKind: (character: string) => boolean): Uint8Array {
  return Uint8Array.from({ length: 2 ** 8 }, (_, byte) => {
    const stands = byte >= 32 && byte !== QUOTE && byte !== BACKSLASH;
    return stands && isOfKind(String.fromCharCode(byte)) ? 1 : 0;
  });
}
