import type { RowTaker, TextRow } from '../../../db/connection/as-text.ts';
import { BYTE_ORDER_MARK, csvLine, forSpreadsheets } from '../../../csv.ts';
import { writeOut } from '../../../terminal/stdout.ts';

/** Characters that are written at once: fewer calls of the system than rows. */
const PIECE = 2 ** 16;

/** Writes a result while it comes. */
export interface RowWriter extends RowTaker {
  /** Writes what is left; how many rows there were, undefined where the statement was not one that returns any. */
  end(): number | undefined;
}

/** What stands before, between and behind rows, and a row itself. */
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

/** Its rows come as spreadsheets take them. */
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

/** Writes rows to stdout as CSV or JSON, no faster than they are read there. */
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
      // `select from` has rows, and nothing to say of them.
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
