import type { Command } from 'commander';
import type { watchAdd, watchList } from '../watch.ts';
import { runCommand } from '../command.ts';
import { examples } from './words.ts';

export function registerWatch(program: Command): void {
  const watch = program
    .command('watch')
    .description('the accounts and pools that are read by name')
    .addHelpText(
      'after',
      examples('toncenter-etl watch add EQC… --note "our validator’s pool"', 'toncenter-etl watch list'),
    );

  watch
    .command('add')
    .description('in any form: raw, base64 or base64url')
    .argument('<address>')
    .option('--note <text>', 'why, for whoever reads the list')
    // A raw address in the masterchain begins with a dash.
    .allowUnknownOption()
    .action((address: string, flags: Parameters<typeof watchAdd>[2]) =>
      runCommand(async (invocation) => (await import('../watch.ts')).watchAdd(invocation, address, flags)),
    );

  watch
    .command('remove')
    .description('what was read for it stays')
    .argument('<address>')
    .allowUnknownOption()
    .action((address: string) =>
      runCommand(async (invocation) => (await import('../watch.ts')).watchRemove(invocation, address)),
    );

  watch
    .command('list')
    .option('--json', 'for programs')
    .action((flags: Parameters<typeof watchList>[1]) =>
      runCommand(async (invocation) => (await import('../watch.ts')).watchList(invocation, flags)),
    );
}
