import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import type { Database } from '../db/connection/database.ts';
import { gradeOf } from '../db/read/grade-of.ts';
import { atOneMoment, stateOf } from '../db/read/table-rows.ts';
import type { ExportedTable } from './tables-of.ts';
import { makeFolder } from '../make-folder.ts';
import type { Range } from '../range.ts';
import type { Stop } from '../stop.ts';
import { writeCsvRows } from './csv-rows.ts';

interface CsvOptions {
  readonly database: Database;
  readonly tables: readonly ExportedTable[];
  readonly range: Range;
  readonly directory: string;
  readonly stop: Stop;
  readonly onFile: (file: { readonly name: string; readonly rows: number; readonly grade: string }) => void;
}

/**
 * Writes `table.csv` for each table: the rows of the range, or, of a list or look-up of which anything was read, all.
 * False where it was stopped before the end.
 */
export async function exportCsv(options: CsvOptions): Promise<boolean> {
  const { database, tables, range, directory, stop, onFile } = options;
  await makeFolder(directory);
  for (const { table, facts, datasets } of tables) {
    if (stop.finishing.aborted) return false;
    const span = facts.partitioned ? range : undefined;
    const path = join(directory, `${facts.name}.csv`);
    const file = await atOneMoment(database, async (session) => {
      const { rows } = await stateOf(session, { table, span });
      if (span === undefined && rows === 0) return undefined;
      await writeCsvRows(session, { table, span }, { path: `${path}.partial`, header: true });
      const grade = span === undefined ? 'as read' : await gradeOf(session, datasets[0], span);
      return { name: `${facts.name}.csv`, rows, grade };
    });
    if (file === undefined) continue;
    await rename(`${path}.partial`, path);
    onFile(file);
  }
  return true;
}
