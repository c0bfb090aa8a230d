import { stringify } from 'lossless-json';

/** A column that is written. In a `json` column a string is JSON, too, and is quoted; an `array` holds texts. */
export interface CopyColumn {
  readonly name: string;
  readonly kind: 'text' | 'json' | 'array';
}

const NULL = '\\N';
const SPECIAL = /[\\\t\n\r]/;
const EACH_SPECIAL = /[\\\t\n\r]/g;
const ESCAPES: Readonly<Record<string, string>> = { '\t': '\\t', '\n': '\\n', '\r': '\\r' };

/** Characters in a chunk: large enough to send at once, and small enough that a page is never in memory as text. */
const PIECE = 65_536;

/**
 * Rows in the text format of Postgres' COPY, in chunks of whole lines: one line for each row, with tabs between its
 * values. A value that is absent or null is null, even in a column of JSON. Numbers that a double cannot hold (BigInt,
 * LosslessNumber) keep all digits.
 */
export function* toCopyText(
  columns: readonly CopyColumn[],
  rows: readonly Readonly<Record<string, unknown>>[],
): Generator<string, void> {
  let piece = '';
  for (const row of rows) {
    let separator = '';
    for (const { name, kind } of columns) {
      piece += separator + field(kind, row[name]);
      separator = '\t';
    }
    piece += '\n';
    if (piece.length < PIECE) continue;
    yield piece;
    piece = '';
  }
  if (piece !== '') yield piece;
}

function field(kind: CopyColumn['kind'], value: unknown): string {
  if (value === null || value === undefined) return NULL;
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  const text = textOf(kind, value);
  return SPECIAL.test(text) ? escapeCopy(text) : text;
}

/** Escapes the characters that end values and lines. */
export function escapeCopy(text: string): string {
  return text.replace(EACH_SPECIAL, (found) => ESCAPES[found] ?? `\\${found}`);
}

function textOf(kind: CopyColumn['kind'], value: unknown): string {
  if (kind === 'array' && Array.isArray(value)) return toArray(value);
  return kind === 'text' && typeof value === 'string' ? value : toJson(value);
}

/** An array in the notation of Postgres, with each element in quotes. */
export function toArray(values: readonly unknown[]): string {
  return `{${values.map((value) => `"${String(value).replaceAll(/[\\"]/g, String.raw`\$&`)}"`).join(',')}}`;
}

/** JSON.stringify throws on a BigInt and serializes a LosslessNumber as an object: both take the slower path. */
export function toJson(value: unknown): string {
  try {
    const text = JSON.stringify(value);
    if (!text.includes('"isLosslessNumber"')) return text;
  } catch {
    // Serialized below.
  }
  return stringify(value) ?? 'null';
}
