import { resolve } from 'node:path';
import { openStore } from '../app.ts';
import { loadJobs } from '../crawl/load-jobs.ts';
import { stopOnSignals } from '../daemon/shutdown.ts';
import { chooseDatasets, type Dataset } from '../dataset.ts';
import { describeTable } from '../db/table-description.ts';
import { EXIT, UsageError, type ExitCode } from '../errors.ts';
import { csv } from '../export/csv-file.ts';
import { exportTables, type ExportedTable } from '../export/export.ts';
import { parquet } from '../export/parquet-file.ts';
import type { FileFormat } from '../export/row-file.ts';
import { formatRange, parseRange } from '../range.ts';
import type { Invocation } from './command.ts';

interface ExportFlags {
  readonly from: string;
  readonly to: string;
  readonly out: string;
  readonly only?: readonly string[];
  readonly format: string;
}

/** `export --from … --to … --out DIR`: a file for each partition, and the manifest that says what is in them. */
export async function exportRows(invocation: Invocation, flags: ExportFlags): Promise<ExitCode> {
  const { config, logger, now } = invocation;
  const range = parseRange(flags.from, flags.to, now);
  const format = formatOf(flags.format);
  const tables = tablesOf(chooseDatasets(flags.only ?? config.datasets, await loadJobs()));
  const directory = resolve(flags.out);
  const stop = stopOnSignals(logger);
  const store = await openStore(config, logger, 'toncenter-etl export');
  const counts = { written: 0, unchanged: 0, rows: 0 };
  try {
    console.error(`exports ${formatRange(range)} of ${store.database.label} to ${directory}`);
    const whole = await exportTables({
      ...{ database: store.database, tables, range, format, directory, stop },
      onFile: (entry, written) => {
        counts[written ? 'written' : 'unchanged'] += 1;
        counts.rows += entry.rows;
        console.log(`${written ? 'written' : 'unchanged'} ${entry.file}: ${entry.rows} rows, ${entry.grade}`);
      },
    });
    console.error(
      `${counts.written} files written, ${counts.unchanged} unchanged, ${counts.rows} rows in all`,
    );
    return whole ? EXIT.done : EXIT.incomplete;
  } finally {
    await store.close();
    stop.dispose();
  }
}

function formatOf(name: string): FileFormat {
  const format = [parquet, csv].find((known) => known.name === name);
  if (format === undefined) throw new UsageError(`--format is parquet or csv, not "${name}"`);
  return format;
}

/** Every table once: under the dataset of its own name, else the first that fills it. */
function tablesOf(datasets: readonly Dataset[]): ExportedTable[] {
  const found = new Map<string, ExportedTable>();
  for (const { name: dataset, job } of datasets)
    for (const [name, table] of Object.entries(job.tables))
      if (!found.has(name) || name === dataset) found.set(name, { dataset, table: describeTable(table) });
  return [...found.values()];
}
