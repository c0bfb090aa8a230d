import type { RowFormatName } from './row-writer.ts';
import type { TextResult } from '../../../db/connection/as-text.ts';
import { formatTable } from '../table.ts';

export type SqlFormat = 'table' | RowFormatName;

/** On a terminal a cell longer than this is cut, so that rows stay rows. */
const WIDEST = 60;

/** A result as a table of aligned columns: null as empty, line breaks as \n. On a terminal long cells are cut. */
export function formatResult({ columns, rows }: TextResult, terminal: boolean): string {
  const cell = (value: string | null) => shorten(oneLine(value ?? ''), terminal);
  return formatTable(
    columns,
    rows.map((row) => row.map(cell)),
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
export function summarize(rows: number | undefined, command: string): string {
  return rows === undefined ? command : `(${rows} ${rows === 1 ? 'row' : 'rows'})`;
}

function oneLine(text: string): string {
  return text.replaceAll(/\r?\n/g, '\\n').replaceAll('\t', '\\t');
}

function shorten(text: string, terminal: boolean): string {
  return terminal && text.length > WIDEST ? `${text.slice(0, WIDEST - 1)}…` : text;
}
