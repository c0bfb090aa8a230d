import { resolve } from 'node:path';
import { EXIT, type ExitCode } from '../errors.ts';
import { exportCsv } from '../export/export-csv.ts';
import { exportLake } from '../lake/write/export-lake.ts';
import { formatRange } from '../range.ts';
import type { Invocation } from './command.ts';
import { parseExport, type ExportFlags } from './parse/export-flags.ts';
import { withLake } from '../lake/open-lake.ts';
import { withStop } from './with-stop.ts';
import { withStore } from './with-store.ts';

/** `export --from … --to … --out LAKE`: brings what is covered into a lake, or with `--format csv` into a file for each table. */
export async function exportRows(invocation: Invocation, flags: ExportFlags): Promise<ExitCode> {
  const { format, ...wanted } = await parseExport(invocation, flags);
  return withStop(invocation.logger, (stop) =>
    withStore({ ...invocation, signal: stop.finishing }, 'toncenter-etl export', async ({ database }) => {
      console.error(`exports ${formatRange(wanted.range)} of ${database.label} to ${flags.out}`);
      const options = { ...wanted, database, stop, now: invocation.now };
      return format === 'parquet'
        ? toLake(options, flags.out)
        : toCsv({ ...options, forSpreadsheets: format === 'spreadsheet' }, resolve(flags.out));
    }),
  );
}

type Options = Omit<Parameters<typeof exportLake>[0], 'lake' | 'onPart' | 'onFault'>;

/** Holes that are named: of many the first ones tell enough. */
const NAMED_HOLES = 3;

async function toCsv(
  options: Options & { readonly forSpreadsheets: boolean },
  directory: string,
): Promise<ExitCode> {
  const onFile: Parameters<typeof exportCsv>[0]['onFile'] = ({ name, rows, grade, lacking }) => {
    const holes = lacking.slice(0, NAMED_HOLES).map(formatRange);
    if (lacking.length > holes.length) holes.push(`${lacking.length - holes.length} more`);
    const isQuarantined = grade === 'incomplete' && lacking.length === 0;
    const lacks = isQuarantined ? ['records in quarantine'] : holes;
    console.log(
      `written ${name}: ${rows} rows, ${grade}${lacks.length > 0 ? `: lacks ${lacks.join(', ')}` : ''}`,
    );
  };
  return (await exportCsv({ ...options, directory, onFile })) ? EXIT.done : EXIT.incomplete;
}

function toLake(options: Options, out: string): Promise<ExitCode> {
  return withLake(out, async (lake) => {
    const counts = { written: 0, unchanged: 0, rows: 0, faults: 0 };
    const isWhole = await exportLake({
      ...options,
      lake,
      onPart: (table, { path, rows, grades }, isWritten) => {
        const became = isWritten ? 'written' : 'unchanged';
        counts[became] += 1;
        counts.rows += rows;
        const graded = Object.entries(grades).map(([dataset, grade]) => `${dataset} ${grade}`);
        console.log(`${became} ${table}/${path}: ${rows} rows, ${graded.join(', ')}`);
      },
      onFault: ({ message, hint = '' }) => {
        counts.faults += 1;
        console.error(`not written: ${message}${hint && `\n${hint}`}`);
      },
    });
    const { written, unchanged, rows } = counts;
    console.error(`${written} parts written, ${unchanged} unchanged, ${rows} rows in all`);
    if (counts.faults > 0) return EXIT.failed;
    return isWhole ? EXIT.done : EXIT.incomplete;
  });
}
