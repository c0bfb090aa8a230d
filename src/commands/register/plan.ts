import type { Command } from 'commander';
import type { plan } from '../plan.ts';
import { runCommand } from '../command.ts';
import { examples, datasetList } from './words.ts';

export function registerPlan(program: Command): void {
  program
    .command('plan')
    .description(
      'what a backfill of a range will bring and cost: asks for samples, stores no data, prints ranges',
    )
    .requiredOption('--from <time>', 'first second of the range, UTC')
    .requiredOption('--to <time>', 'end of the range, exclusive')
    .option('--only <datasets>', 'these datasets instead of ETL_DATASETS, with commas between', datasetList)
    .option('--json', 'for programs')
    .addHelpText(
      'after',
      examples(
        'toncenter-etl plan --from 2026-01 --to 2026-02',
        'toncenter-etl plan --from -7d --to now --only transactions --json',
      ),
    )
    .action((flags: Parameters<typeof plan>[1]) =>
      runCommand(async (invocation) => (await import('../plan.ts')).plan(invocation, flags)),
    );
}
