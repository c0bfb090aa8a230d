import type { Command } from 'commander';
import type { exportRows } from '../export.ts';
import { runCommand } from '../command.ts';
import { examples, list } from './words.ts';

export function registerExport(program: Command): void {
  program
    .command('export')
    .description(
      'write tables to files, one a partition, with a manifest; a re-run writes only what has changed',
    )
    .requiredOption('--from <time>', 'first second of the range, UTC')
    .requiredOption('--to <time>', 'end of the range, exclusive')
    .requiredOption('--out <dir>', 'directory of the files; made where absent')
    .option('--only <datasets>', 'these datasets instead of ETL_DATASETS, with commas between', list)
    .option('--format <parquet|csv>', 'default parquet', 'parquet')
    .addHelpText(
      'after',
      examples(
        'toncenter-etl export --from 2026-11 --to 2026-12 --out ./november',
        'toncenter-etl export --only blocks --from -7d --to now --format csv --out ./week',
      ),
    )
    .action((flags: Parameters<typeof exportRows>[1]) =>
      runCommand(async (invocation) => (await import('../export.ts')).exportRows(invocation, flags)),
    );
}
