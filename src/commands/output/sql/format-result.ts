import { csvLine } from '../../../export/csv.ts';
import type { TextResult } from '../../../db/connection/as-text.ts';
import { formatTable } from '../table.ts';

export type SqlFormat = 'table' | 'csv' | 'json';

/** On a terminal a cell longer than this is cut, so that rows stay rows. */
const WIDEST = 60;

/**
 * A result as text: aligned columns (null as empty, line breaks as \n), CSV with a header (RFC 4180; null as empty, the
 * empty string in quotes), or a JSON array of objects whose values are strings or null, so that no digit is lost.
 */
export function formatResult(result: TextResult, format: SqlFormat, terminal: boolean): string {
  if (format === 'csv') return toCsv(result);
  if (format === 'json') return toJson(result);
  const cell = (value: string | null) => shorten(oneLine(value ?? ''), terminal);
  return formatTable(
    result.columns,
    result.rows.map((row) => row.map(cell)),
  );
}

/** True where a line of the table does not fit into so many columns. */
export function isTooWide(table: string, columns: number): boolean {
  return table.split('\n').some((line) => line.length > columns);
}

/** Each row as lines of its own, one for each column, whole. */
export function formatRecords({ columns, rows }: TextResult): string {
  const width = Math.max(...columns.map((column) => column.length));
  return rows
    .flatMap((row, index) => [
      `-- ${index + 1} ${'-'.repeat(width)}`,
      ...columns.map((column, place) => `${column.padEnd(width)}  ${oneLine(row[place] ?? '')}`.trimEnd()),
    ])
    .join('\n');
}

/** What the statement did, for people: `(3 rows)`, or Postgres' own words where it returns none: `DELETE 3`. */
export function summarize({ columns, rows, command }: TextResult): string {
  return columns.length === 0 ? command : `(${rows.length} ${rows.length === 1 ? 'row' : 'rows'})`;
}

function oneLine(text: string): string {
  return text.replaceAll(/\r?\n/g, '\\n').replaceAll('\t', '\\t');
}

function shorten(text: string, terminal: boolean): string {
  return terminal && text.length > WIDEST ? `${text.slice(0, WIDEST - 1)}…` : text;
}

function toCsv({ columns, rows }: TextResult): string {
  return [columns, ...rows].map(csvLine).join('\r\n');
}

function toJson({ columns, rows }: TextResult): string {
  const objects = rows.map((row) =>
    JSON.stringify(Object.fromEntries(columns.map((column, index) => [column, row[index] ?? null]))),
  );
  return objects.length === 0 ? '[]' : `[\n${objects.join(',\n')}\n]`;
}
