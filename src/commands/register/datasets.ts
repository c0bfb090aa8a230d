import type { Command } from 'commander';
import type { datasets } from '../datasets.ts';
import { runCommand } from '../command.ts';
import { examples } from './words.ts';

export function registerDatasets(program: Command): void {
  program
    .command('datasets')
    .description('what can be crawled; with a name: what it stores, column by column, and what it costs')
    .argument('[name]', 'a dataset')
    .option('--json', 'for programs')
    .addHelpText('after', examples('toncenter-etl datasets', 'toncenter-etl datasets transactions'))
    .action((name: string | undefined, flags: Parameters<typeof datasets>[2]) =>
      runCommand(async (invocation) => (await import('../datasets.ts')).datasets(invocation, name, flags)),
    );
}
