import type { Command } from 'commander';
import type { importRows } from '../import.ts';
import { runCommand } from '../command.ts';
import { examples, datasetList } from './words.ts';

export function registerImport(program: Command): void {
  program
    .command('import')
    .description('bring from a lake what the database does not cover; `verify` proves it afterwards')
    .requiredOption('--lake <place>', 'lake that `export` wrote')
    .requiredOption('--from <time>', 'first second of the range, UTC')
    .requiredOption('--to <time>', 'end of the range, exclusive')
    .option('--only <datasets>', 'these datasets instead of ETL_DATASETS, with commas between', datasetList)
    .addHelpText(
      'after',
      examples(
        'toncenter-etl import --lake ./lake --from 2026-11-01 --to 2026-12-01',
        'toncenter-etl verify --from 2026-11-01 --to 2026-12-01',
      ),
    )
    .action((flags: Parameters<typeof importRows>[1]) =>
      runCommand(async (invocation) => (await import('../import.ts')).importRows(invocation, flags)),
    );
}
