import { resolve } from 'node:path';
import { openStore } from '../app.ts';
import { loadDatasets } from '../dataset/load-jobs.ts';
import { stopOnSignals } from '../stop.ts';
import { chooseDatasets, splitKinds, type AnyJob, type Dataset } from '../dataset/dataset.ts';
import { describeTable } from '../db/read/table-description.ts';
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
  const tables = tablesOf(streamsAmong(chooseDatasets(flags.only ?? config.datasets, await loadDatasets())));
  const directory = resolve(flags.out);
  const stop = stopOnSignals(logger);
  const store = await openStore(config, logger, 'toncenter-etl export');
  const counts = { written: 0, unchanged: 0, rows: 0 };
  try {
    console.error(`exports ${formatRange(range)} of ${store.database.label} to ${directory}`);
    const whole = await exportTables({
      database: store.database,
      tables,
      range,
      format,
      directory,
      stop,
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

/** What has rows of a time; the others are named. @throws UsageError where nothing is left */
function streamsAmong(chosen: readonly Dataset<AnyJob>[]): Dataset[] {
  const { streams, collections } = splitKinds(chosen);
  if (collections.length > 0) {
    const names = collections.map(({ name }) => name).join(', ');
    const message = `lists and look-ups have no range of time to export: ${names}`;
    const hint = 'toncenter-etl sql --csv "select * from …" writes such a table out whole.';
    if (streams.length === 0) throw new UsageError(message, { hint });
    console.error(`left out: ${message}`);
  }
  return streams;
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
