import { EXIT, type ExitCode } from '../errors.ts';
import { exportTables } from '../export/export.ts';
import { formatRange } from '../range.ts';
import type { Invocation } from './command.ts';
import { parseExport, type ExportFlags } from './parse/export-flags.ts';
import { withStop } from './with-stop.ts';
import { withStore } from './with-store.ts';

/** `export --from … --to … --out DIR`: a file for each partition, and the manifest that says what is in them. */
export async function exportRows(invocation: Invocation, flags: ExportFlags): Promise<ExitCode> {
  const wanted = await parseExport(invocation, flags);
  return withStop(invocation.logger, (stop) =>
    withStore(invocation, 'toncenter-etl export', async ({ database }) => {
      console.error(`exports ${formatRange(wanted.range)} of ${database.label} to ${wanted.directory}`);
      const counts = { written: 0, unchanged: 0, rows: 0 };
      const isWhole = await exportTables({
        database,
        ...wanted,
        stop,
        onFile: (entry, isWritten) => {
          const became = isWritten ? 'written' : 'unchanged';
          counts[became] += 1;
          counts.rows += entry.rows;
          console.log(`${became} ${entry.file}: ${entry.rows} rows, ${entry.grade}`);
        },
      });
      const { written, unchanged, rows } = counts;
      console.error(`${written} files written, ${unchanged} unchanged, ${rows} rows in all`);
      return isWhole ? EXIT.done : EXIT.incomplete;
    }),
  );
}
