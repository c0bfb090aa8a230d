import type { Command } from 'commander';
import type { reader } from '../reader.ts';
import { runCommand } from '../command.ts';
import { examples, roleName } from './words.ts';

export function registerReader(program: Command): void {
  program
    .command('reader')
    .description('make a role that reads the data and does no more, and print its connection string')
    .option('--name <role>', 'the role', roleName, 'toncenter_reader')
    .option('--keep-password', 'of a role that is there, which only gets its rights')
    .option(
      '--strict',
      'take temporary tables, large objects and advisory locks from every role of the database (PUBLIC); always so on the embedded server',
    )
    .option('--timeout <duration>', 'after which its statements are ended', '60s')
    .addHelpText(
      'after',
      examples(
        'psql "$(toncenter-etl reader)"    # embedded: while sync runs',
        'toncenter-etl reader --name metabase --timeout 5m    # again: a new password',
      ),
    )
    .action((flags: Parameters<typeof reader>[1]) =>
      runCommand(async (invocation) => (await import('../reader.ts')).reader(invocation, flags)),
    );
}
