import { closeSync, openSync, writeSync } from 'node:fs';
import type { Session } from '../postgres/database.ts';
import { BYTE_ORDER_MARK, cellsOf, csvLine, forSpreadsheets } from '../csv.ts';
import type { TableDescription } from '../read/table-description.ts';
import { copyRows, type CopyFormat, type TableRows } from '../read/table-rows.ts';

/** Bytes that are written at once: the server sends row by row. */
const PIECE = 2 ** 20;

/** Begins a file in the text format: readers drop a byte order mark at the beginning, and a row may have one. */
const FIRST_LINE = '\n';

interface RowFile {
  readonly path: string;
  readonly format: CopyFormat;
  /** The table, if the file is for spreadsheets. Such a file is CSV. */
  readonly spreadsheet?: TableDescription;
}

/** Writes rows to a file, synchronously. This applies backpressure to the server. */
export async function writeRows(
  session: Session,
  rows: TableRows,
  { path, format, spreadsheet }: RowFile,
): Promise<void> {
  const file = openSync(path, 'w');
  const piece = Buffer.allocUnsafe(PIECE);
  let used = 0;
  const write = (data: Buffer) => {
    if (used + data.length > PIECE) {
      writeSync(file, piece, 0, used);
      used = 0;
    }
    if (data.length > PIECE) writeSync(file, data);
    else used += data.copy(piece, used);
  };
  const onData = spreadsheet === undefined ? write : spreadsheetLines(spreadsheet, write);
  try {
    if (format === 'text') writeSync(file, FIRST_LINE);
    await copyRows(session, rows, { format, onData });
    writeSync(file, piece, 0, used);
  } finally {
    closeSync(file);
  }
}

/** The server sends the column names first, then each row by itself. */
function spreadsheetLines({ columns }: TableDescription, write: (data: Buffer) => void) {
  const types = new Map(columns.map(({ name, type }) => [name, type]));
  let truths: readonly boolean[] | undefined;
  return (line: Buffer) => {
    const cells = cellsOf(line.toString());
    const mark = truths === undefined ? BYTE_ORDER_MARK : '';
    write(Buffer.from(mark + csvLine(forSpreadsheets(cells, truths))));
    truths ??= cells.map((name) => types.get(name ?? '') === 'boolean');
  };
}
