import type { Command } from 'commander';
import { chooseDatasets } from '../dataset/dataset.ts';
import { loadDatasets } from '../dataset/load-jobs.ts';
import { createPartitions } from '../write/partitions.ts';
import { EXIT, type ExitCode } from '../errors.ts';
import { importLake } from '../lake/import-lake.ts';
import { withExistingLake } from '../lake/open-lake.ts';
import { formatRange, parseRange } from '../range.ts';
import { datasetList, examples } from './option-words.ts';
import { type Invocation, runCommand, withStop, withStore } from './run-command.ts';

export function defineImport(command: Command): void {
  command
    .requiredOption('--lake <location>', 'lake that `export` wrote')
    .requiredOption('--from <time>', 'first second of the range, UTC')
    .requiredOption('--to <time>', 'end of the range, exclusive')
    .option('--only <datasets>', 'these datasets instead of ETL_DATASETS, separated by commas', datasetList)
    .addHelpText(
      'after',
      examples(
        'toncenter-etl import --lake ./lake --from 2026-11-01 --to 2026-12-01',
        'toncenter-etl verify --from 2026-11-01 --to 2026-12-01',
      ),
    )
    .action((flags: ImportFlags) => runCommand((invocation) => importRows(invocation, flags)));
}

interface ImportFlags {
  readonly from: string;
  readonly to: string;
  readonly lake: string;
  readonly only?: readonly string[];
}

/**
 * `import --lake LAKE --from … --to …`: imports what the database does not cover. Exits with 3 if the lake lacks a
 * part.
 */
export async function importRows(invocation: Invocation, flags: ImportFlags): Promise<ExitCode> {
  const { config, logger, now } = invocation;
  const range = parseRange(flags.from, flags.to, now);
  const available = await loadDatasets();
  // Without --only, everything in the lake is imported, and missing parts of the chosen datasets are reported.
  const chosen = chooseDatasets(flags.only ?? config.datasets, available);
  const expected = new Set(chosen.map(({ name }) => name));
  const datasets = flags.only === undefined ? available : chosen;
  return withStop(logger, (stop) =>
    withExistingLake(flags.lake, (lake) =>
      withStore(
        { ...invocation, migrates: true, signal: stop.finishing },
        'toncenter-etl import',
        async ({ database }) => {
          console.error(`imports ${formatRange(range)} from ${flags.lake} to ${database.label}`);
          const partitions = createPartitions(database, config.partition);
          const onCommit = (span: typeof range, rows: number) =>
            console.log(`${formatRange(span)}: ${rows} rows`);
          const shared = { lake, database, partitions, datasets, expected, available, range, stop, onCommit };
          const imported = await importLake(shared);
          for (const { dataset, lacking } of imported)
            for (const span of lacking) console.log(`not in the lake: ${dataset} ${formatRange(span)}`);
          console.error('the imported rows are not verified yet: run `toncenter-etl verify`');
          const isWhole = imported.every(({ lacking }) => lacking.length === 0);
          return isWhole && !stop.finishing.aborted ? EXIT.done : EXIT.incomplete;
        },
      ),
    ),
  );
}
