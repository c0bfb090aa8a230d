import type { Command } from 'commander';
import type { sync } from '../sync.ts';
import { runCommand } from '../command.ts';
import { examples, datasetList } from './words.ts';

export function registerSync(program: Command): void {
  program
    .command('sync')
    .description('the daemon: keep the datasets complete, from ETL_SINCE to the head, until stopped')
    .option('--only <datasets>', 'these datasets instead of ETL_DATASETS, with commas between', datasetList)
    .option('--record <dir>', 'keep every response of the API there, for `simulate --corpus <dir>`')
    .addHelpText(
      'after',
      examples(
        'toncenter-etl sync',
        'ETL_SINCE=-7d toncenter-etl sync --only blocks,transactions',
        '# a simulated network, no key, no internet:',
        'TONCENTER_NETWORK=demo ETL_DATA_DIR=./demo toncenter-etl sync',
      ),
    )
    .action((flags: Parameters<typeof sync>[1]) =>
      runCommand(async (invocation) => (await import('../sync.ts')).sync(invocation, flags)),
    );
}
