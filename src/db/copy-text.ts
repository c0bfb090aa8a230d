import { stringify } from 'lossless-json';

/** A column that is written; in one of JSON a string is JSON too, and stands in quotes. */
export interface CopyColumn {
  readonly name: string;
  readonly kind: 'text' | 'json';
}

const NULL = '\\N';
const SPECIAL = /[\\\t\n\r]/;
const EACH_SPECIAL = /[\\\t\n\r]/g;
const ESCAPES: Readonly<Record<string, string>> = { '\t': '\\t', '\n': '\\n', '\r': '\\r' };

/**
 * Rows in the text format of Postgres' COPY: a line for each, its values between tabs. A value that is absent or null
 * is null, also in a column of JSON. Numbers that a double cannot hold (BigInt, LosslessNumber) keep all their digits.
 */
export function toCopyText(
  columns: readonly CopyColumn[],
  rows: readonly Readonly<Record<string, unknown>>[],
): string {
  const line = (row: Readonly<Record<string, unknown>>) =>
    columns.map(({ name, kind }) => field(kind, row[name])).join('\t');
  return rows.map((row) => `${line(row)}\n`).join('');
}

function field(kind: CopyColumn['kind'], value: unknown): string {
  if (value === null || value === undefined) return NULL;
  const text = kind === 'text' && typeof value === 'string' ? value : toJson(value);
  return SPECIAL.test(text) ? text.replace(EACH_SPECIAL, (found) => ESCAPES[found] ?? `\\${found}`) : text;
}

/** JSON.stringify throws at a BigInt and takes a LosslessNumber apart; both are rare, and take the slower way. */
function toJson(value: unknown): string {
  try {
    const text = JSON.stringify(value);
    if (!text.includes('"isLosslessNumber"')) return text;
  } catch {
    // Told below.
  }
  return stringify(value) ?? 'null';
}
