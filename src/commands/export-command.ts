import { resolve } from 'node:path';
import type { Command } from 'commander';
import { chooseDatasets } from '../dataset/dataset.ts';
import { loadDatasets } from '../dataset/load-jobs.ts';
import { EXIT, type ExitCode, UsageError } from '../errors.ts';
import { exportCsv, tablesOf } from '../export/write-rows.ts';
import { withLake } from '../lake/open-lake.ts';
import { exportLake } from '../lake/export-lake.ts';
import { ALWAYS, formatRange, parseRange } from '../range.ts';
import { coveredBy, isRead } from '../read/grade-of.ts';
import { commandLine } from '../terminal/program-name.ts';
import { datasetList, examples } from './option-words.ts';
import { type Invocation, runCommand, withStop, withStore } from './run-command.ts';

export function defineExport(command: Command): void {
  command
    .requiredOption('--from <time>', 'first second of the range, UTC')
    .requiredOption('--to <time>', 'end of the range, exclusive')
    .requiredOption(
      '--out <location>',
      'directory of the lake or of the CSV files, or s3://bucket/prefix of a lake',
    )
    .option(
      '--only <datasets>',
      'only these datasets, separated by commas; default: all that are covered',
      datasetList,
    )
    .option('--format <parquet|csv>', 'a lake of Parquet files, or a CSV file for each table', 'parquet')
    .option(
      '--spreadsheet',
      'with --format csv: as Excel and LibreOffice read it, without formulas and lost digits',
    )
    .addHelpText(
      'after',
      examples(
        'toncenter-etl export --from 2026-11 --to now --out ./lake',
        'toncenter-etl export --from -7d --to now --format csv --out week',
      ),
    )
    .action((flags: ExportFlags) => runCommand((invocation) => exportRows(invocation, flags)));
}

/**
 * `export --from … --to … --out LAKE`: writes what is covered to a lake, or with `--format csv` to a file for each
 * table.
 */
export async function exportRows(invocation: Invocation, flags: ExportFlags): Promise<ExitCode> {
  const { format, ...wanted } = await parseExport(invocation, flags);
  return withStop(invocation.logger, (stop) =>
    withStore({ ...invocation, signal: stop.finishing }, 'toncenter-etl export', async ({ database }) => {
      console.error(`exports ${formatRange(wanted.range)} of ${database.label} to ${flags.out}`);
      const options = { ...wanted, database, stop, now: invocation.now, exported: new Set<string>() };
      const code = await (format === 'parquet'
        ? toLake(options, flags.out)
        : toCsv({ ...options, forSpreadsheets: format === 'spreadsheet' }, resolve(flags.out)));
      if (code !== EXIT.done) return code;
      return (await nameMissing(options, flags.only ?? [])) ? EXIT.incomplete : EXIT.done;
    }),
  );
}

/**
 * Names the datasets of which nothing was exported: those that were asked for by name, and those that have rows but
 * no covered seconds. Returns true if one of them was asked for.
 */
async function nameMissing(
  { database, tables, exported, range }: Options,
  only: readonly string[],
): Promise<boolean> {
  const missing = new Map(tables.map(({ dataset, facts }) => [dataset, facts]));
  for (const { dataset, facts } of tables) if (exported.has(facts.name)) missing.delete(dataset);
  for (const [dataset, facts] of missing) {
    const hasUncovered =
      facts.partitioned &&
      (await isRead(database, facts.name)) &&
      (await coveredBy(database, dataset, ALWAYS)).length === 0;
    if (hasUncovered)
      console.error(
        `not exported: ${dataset}: its rows are complete by block, not by second, so no second is covered. Read them in the database.`,
      );
    else if (only.includes(dataset))
      console.error(`not exported: ${dataset}: nothing of it is covered in ${formatRange(range)}`);
  }
  if (exported.size === 0 && only.length === 0)
    console.error(
      `nothing was exported: no dataset covers a second of ${formatRange(range)}. See ${commandLine('status')}`,
    );
  return only.some((dataset) => missing.has(dataset));
}

type Options = Omit<Parameters<typeof exportLake>[0], 'lake' | 'onPart' | 'onFault'> & {
  readonly exported: Set<string>;
};

/** Holes that are named before the rest is only counted. */
const NAMED_HOLES = 3;

async function toCsv(
  options: Options & { readonly forSpreadsheets: boolean },
  directory: string,
): Promise<ExitCode> {
  const onFile: Parameters<typeof exportCsv>[0]['onFile'] = ({ table, rows, grade, lacking }) => {
    const holes = lacking.slice(0, NAMED_HOLES).map(formatRange);
    if (lacking.length > holes.length) holes.push(`${lacking.length - holes.length} more`);
    options.exported.add(table);
    const isQuarantined = grade === 'incomplete' && lacking.length === 0;
    const lacks = isQuarantined ? ['records in quarantine'] : holes;
    console.log(
      `written ${table}.csv: ${rows} rows, ${grade}${lacks.length > 0 ? `: lacks ${lacks.join(', ')}` : ''}`,
    );
  };
  return (await exportCsv({ ...options, directory, onFile })) ? EXIT.done : EXIT.incomplete;
}

function toLake(options: Options, out: string): Promise<ExitCode> {
  return withLake({ location: out, signal: options.stop.leaving }, async (lake) => {
    const counts = { written: 0, unchanged: 0, rows: 0, faults: 0 };
    const isWhole = await exportLake({
      ...options,
      lake,
      onPart: (table, { path, rows, grades }, isWritten) => {
        options.exported.add(table);
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

interface ExportFlags {
  readonly from: string;
  readonly to: string;
  readonly out: string;
  readonly only?: readonly string[];
  readonly format: string;
  readonly spreadsheet?: boolean;
}

/**
 * Without --only, all datasets are chosen, and what is covered of them is exported.
 * @throws UsageError for a format, a dataset or a range that does not exist
 */
async function parseExport({ now }: Pick<Invocation, 'now'>, flags: ExportFlags) {
  const range = parseRange(flags.from, flags.to, now);
  const format = formatOf(flags);
  const available = await loadDatasets();
  const chosen = flags.only === undefined ? available : chooseDatasets(flags.only, available);
  return { range, format, tables: tablesOf(chosen, available) };
}

function formatOf({ format: name, spreadsheet = false }: ExportFlags): 'parquet' | 'csv' | 'spreadsheet' {
  if (spreadsheet && name === 'csv') return 'spreadsheet';
  if (spreadsheet) throw new UsageError('--spreadsheet is a kind of --format csv: give both');
  if (name === 'parquet' || name === 'csv') return name;
  throw new UsageError(`--format is parquet or csv, not "${name}"`);
}
