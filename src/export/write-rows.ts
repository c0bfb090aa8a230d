import { closeSync, openSync, writeFileSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import type { Session, Database } from '../postgres/database.ts';
import { BYTE_ORDER_MARK, type ColumnKind, columnKindOf, cellsOf, csvLine, forSpreadsheets } from '../csv.ts';
import {
  type TableDescription,
  copyRows,
  type CopyFormat,
  type TableRows,
  atOneMoment,
  stateOf,
  describeTable,
} from '../read/table-rows.ts';
import { coveredBy, gradeOf, isRead } from '../read/grade-of.ts';
import { LakeError, messageOf } from '../errors.ts';
import { makeFolder } from '../files.ts';
import { without, type Range } from '../range.ts';
import type { Stop } from '../stop.ts';
import type { AnyJob, Dataset } from '../dataset/dataset.ts';
import { ownTablesOf } from '../tables/describe.ts';
import type { Table } from '../dataset/declaration/record.ts';

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
  const flush = () => {
    writeWhole({ file, path }, piece.subarray(0, used));
    used = 0;
  };
  const write = (data: Buffer) => {
    if (used + data.length > PIECE) flush();
    if (data.length > PIECE) writeWhole({ file, path }, data);
    else used += data.copy(piece, used);
  };
  const onData = spreadsheet === undefined ? write : spreadsheetLines(spreadsheet, write);
  try {
    if (format === 'text') write(Buffer.from(FIRST_LINE));
    await copyRows(session, rows, { format, onData });
    flush();
  } finally {
    closeSync(file);
  }
}

/**
 * When a disk becomes full, a single call of the system writes a part of the data without an error.
 * @throws LakeError
 */
function writeWhole({ file, path }: { readonly file: number; readonly path: string }, data: Buffer): void {
  try {
    writeFileSync(file, data);
  } catch (cause) {
    throw new LakeError(`${path} cannot be written: ${messageOf(cause)}`, {
      cause,
      hint: 'Free some space, or choose another directory. Temporary files of a lake are in TMPDIR.',
    });
  }
}

/** The server sends the column names first, then each row by itself. */
function spreadsheetLines({ columns }: TableDescription, write: (data: Buffer) => void) {
  const types = new Map(columns.map(({ name, type }) => [name, type]));
  let kinds: readonly (ColumnKind | undefined)[] | undefined;
  return (line: Buffer) => {
    const cells = cellsOf(line.toString());
    const mark = kinds === undefined ? BYTE_ORDER_MARK : '';
    write(Buffer.from(mark + csvLine(forSpreadsheets(cells, kinds))));
    kinds ??= cells.map((name) => columnKindOf(types.get(name ?? '') ?? ''));
  };
}

interface CsvFile {
  readonly table: string;
  readonly rows: number;
  readonly grade: string;
  /** The seconds of the range that were never read. */
  readonly lacking: readonly Range[];
}

interface CsvOptions {
  readonly database: Database;
  readonly tables: readonly ExportedTable[];
  readonly range: Range;
  readonly directory: string;
  readonly forSpreadsheets: boolean;
  readonly stop: Stop;
  readonly onFile: (file: CsvFile) => void;
}

/**
 * Writes `table.csv` for each table whose dataset covers a part of the range. It holds the rows of the range; for a
 * list or lookup that was read at least in part, it holds all rows. Returns false if it was stopped early.
 */
export async function exportCsv(options: CsvOptions): Promise<boolean> {
  const { database, tables, range, directory, stop, onFile, forSpreadsheets } = options;
  await makeFolder(directory);
  for (const { table, facts, dataset } of tables) {
    if (stop.finishing.aborted) return false;
    const span = facts.partitioned ? range : undefined;
    const path = join(directory, `${facts.name}.csv`);
    const file = await atOneMoment(database, async (session) => {
      const covered = span === undefined ? [] : await coveredBy(session, dataset, span);
      if (span === undefined ? !(await isRead(session, facts.name)) : covered.length === 0) return undefined;
      const { rows } = await stateOf(session, { table, span });
      await writeRows(
        session,
        { table, span },
        { path: `${path}.partial`, format: 'csv', ...(forSpreadsheets && { spreadsheet: facts }) },
      );
      const grade = span === undefined ? 'as read' : await gradeOf(session, dataset, span);
      const lacking = span === undefined ? [] : without([span], covered);
      return { table: facts.name, rows, grade, lacking };
    });
    if (file === undefined) continue;
    await rename(`${path}.partial`, path);
    onFile(file);
  }
  return true;
}

/** A table of the database, and the dataset that it belongs to. */
export interface ExportedTable {
  readonly table: Table;
  readonly facts: TableDescription;
  /** Its coverage tells which seconds of the table are complete. Rows from other datasets are included. */
  readonly dataset: string;
}

export function tablesOf(
  chosen: readonly Dataset<AnyJob>[],
  available: readonly Dataset<AnyJob>[],
): ExportedTable[] {
  return chosen.flatMap((dataset) =>
    ownTablesOf(dataset, available).map(([, table]) => ({
      table,
      facts: describeTable(table),
      dataset: dataset.name,
    })),
  );
}
