import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import type { Database } from '../postgres/database.ts';
import { coveredBy, gradeOf, isRead } from '../read/grade-of.ts';
import { atOneMoment, stateOf } from '../read/table-rows.ts';
import type { ExportedTable } from './tables-of.ts';
import { makeFolder } from '../make-folder.ts';
import { without, type Range } from '../range.ts';
import type { Stop } from '../stop.ts';
import { writeRows } from './write-rows.ts';

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
