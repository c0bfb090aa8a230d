import type { Command } from 'commander';
import type { prune } from '../prune.ts';
import { runCommand } from '../command.ts';
import { examples } from './words.ts';

export function registerPrune(program: Command): void {
  program
    .command('prune')
    .description('drop what ETL_RETENTION does not keep any more, as the daemon does every hour')
    .option('--dry-run', 'print what would be dropped, and stop')
    .addHelpText('after', examples('ETL_RETENTION=transactions:90d,traces:90d toncenter-etl prune --dry-run'))
    .action((flags: Parameters<typeof prune>[1]) =>
      runCommand(async (invocation) => (await import('../prune.ts')).prune(invocation, flags)),
    );
}
