import { BYTE_ORDER_MARK, csvLine, forSpreadsheets } from '../csv.ts';
import type { RowTaker, TextResult, TextRow } from '../postgres/as-text.ts';
import { writeOut } from '../terminal/stdout.ts';
import { fitTable, formatTable } from './table.ts';

/** How rows are shown: as a table if it fits, as records, or as a table whose last column is wrapped. */
export type ResultShape = 'table' | 'records' | 'lines';

/**
 * Prints a result to stdout, and its summary to stderr. If a table is wider than the terminal, or if records are
 * asked for, each row becomes a record.
 */
export function showResult(result: TextResult, format: SqlFormat, shape: ResultShape): void {
  const { columns, rows, command } = result;
  if (format !== 'table') {
    const writer = createRowWriter(format);
    writer.columns(columns);
    // All of it is in memory: no backpressure is needed.
    for (const row of rows) void writer.row(row);
    console.error(summarize(writer.end(), command));
    return;
  }
  if (columns.length > 0) console.log(shaped(result, shape));
  console.error(summarize(columns.length > 0 ? rows.length : undefined, command));
}

function shaped(result: TextResult, shape: ResultShape): string {
  const { isTTY, columns } = process.stdout;
  const table = formatResult(result, isTTY);
  if (shape === 'records') return formatRecords(result);
  if (!isTTY || !isTooWide(table, columns)) return table;
  return shape === 'table'
    ? formatRecords(result)
    : fitTable(
        result.columns,
        result.rows.map((row) => row.map((cell) => cell ?? '')),
      );
}

export type SqlFormat = 'table' | RowFormatName;

/** On a terminal, longer cells are truncated, so that rows stay on one line. */
const WIDEST = 60;

/** A result as a table of aligned columns: null as empty, line breaks as \n. On a terminal, long cells are truncated. */
function formatResult({ columns, rows }: TextResult, terminal: boolean): string {
  const cell = (value: string | null) => shorten(oneLine(value ?? ''), terminal);
  return formatTable(
    columns,
    rows.map((row) => row.map(cell)),
  );
}

/** True if a line of the table is longer than `columns`. */
function isTooWide(table: string, columns: number): boolean {
  return table.split('\n').some((line) => line.length > columns);
}

/** Each row as a block with a line for each column, not truncated. */
function formatRecords({ columns, rows }: TextResult): string {
  const width = Math.max(...columns.map((column) => column.length));
  return rows
    .flatMap((row, number) => [
      `-- ${number + 1} ${'-'.repeat(width)}`,
      ...columns.map((column, index) => `${column.padEnd(width)}  ${oneLine(row[index] ?? '')}`.trimEnd()),
    ])
    .join('\n');
}

/** A summary for people: `(3 rows)`, or the command tag if the statement returns no rows: `DELETE 3`. */
export function summarize(rows: number | undefined, command: string): string {
  return rows === undefined ? command : `(${rows} ${rows === 1 ? 'row' : 'rows'})`;
}

function oneLine(text: string): string {
  return text.replaceAll(/\r?\n/g, '\\n').replaceAll('\t', '\\t');
}

function shorten(text: string, terminal: boolean): string {
  return terminal && text.length > WIDEST ? `${text.slice(0, WIDEST - 1)}…` : text;
}

/** Characters that are written with one system call. */
const PIECE = 2 ** 16;

/** Writes a result while it is received. */
interface RowWriter extends RowTaker {
  /** Writes the rest. Returns the number of rows; undefined if the statement returns none. */
  end(): number | undefined;
}

/** The text before, between and after rows, and of a row. */
interface RowFormat {
  readonly head: (columns: readonly string[]) => string;
  readonly row: (columns: readonly string[], values: TextRow, isFirst: boolean) => string;
  readonly foot: (isEmpty: boolean) => string;
}

/** With a header. */
const CSV: RowFormat = {
  head: csvLine,
  row: (_, values) => csvLine(values),
  foot: () => '',
};

/** CSV for spreadsheets. */
const SPREADSHEET: RowFormat = {
  ...CSV,
  head: (columns) => BYTE_ORDER_MARK + csvLine(forSpreadsheets(columns)),
};

/** An array of objects whose values are strings or null, so that no digit is lost. */
const JSON_ARRAY: RowFormat = {
  head: () => '[',
  row: (columns, values, isFirst) => `${isFirst ? '\n' : ',\n'}${objectOf(columns, values)}`,
  foot: (isEmpty) => (isEmpty ? ']\n' : '\n]\n'),
};

const FORMATS = { csv: CSV, spreadsheet: SPREADSHEET, json: JSON_ARRAY };

export type RowFormatName = keyof typeof FORMATS;

/** Writes rows to stdout as CSV or JSON, with backpressure. */
export function createRowWriter(format: RowFormatName): RowWriter {
  const { head, row, foot } = FORMATS[format];
  let columns: readonly string[] | undefined;
  let truths: readonly boolean[] | undefined;
  let count = 0;
  let piece = '';
  const write = (): Promise<void> | undefined => {
    const text = piece;
    piece = '';
    return writeOut(text);
  };
  return {
    columns(names, areTruths) {
      // `select from` returns rows without columns.
      if (names.length === 0) return;
      columns = names;
      truths = areTruths;
      piece = head(names);
    },
    row(values) {
      if (columns === undefined) return undefined;
      const cells = format === 'spreadsheet' ? forSpreadsheets(values, truths) : values;
      piece += row(columns, cells, count === 0);
      count += 1;
      return piece.length < PIECE ? undefined : write();
    },
    end() {
      if (columns === undefined) return undefined;
      piece += foot(count === 0);
      void write();
      return count;
    },
  };
}

function objectOf(columns: readonly string[], values: TextRow): string {
  return JSON.stringify(Object.fromEntries(columns.map((column, index) => [column, values[index] ?? null])));
}
