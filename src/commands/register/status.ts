import type { Command } from 'commander';
import type { status } from '../status.ts';
import { runCommand } from '../command.ts';
import { examples } from './words.ts';

export function registerStatus(program: Command): void {
  program
    .command('status')
    .description('where every dataset stands, from the database alone')
    .option('--json', 'for programs')
    .option('--check', 'exit 3 where a dataset of ETL_DATASETS lags or lacks something, for monitoring')
    .option('--max-lag <duration>', 'the lag that --check tolerates, also without a daemon; default 5m')
    .option('--from <time>', 'from when on --check wants everything; default since ETL_SINCE')
    .addHelpText(
      'after',
      examples(
        'toncenter-etl status',
        'toncenter-etl status --check --max-lag 5m',
        '# without a daemon, behind a nightly backfill:',
        'toncenter-etl status --check --from 2026-01-01 --max-lag 26h',
        "toncenter-etl status --json | jq '.datasets[].holes'",
      ),
    )
    .action((flags: Parameters<typeof status>[1]) =>
      runCommand(async (invocation) => (await import('../status.ts')).status(invocation, flags)),
    );
}
