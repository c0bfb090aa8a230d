import type { Command } from 'commander';
import { runCommand } from '../command.ts';
import { examples } from './words.ts';

export function registerMigrate(program: Command): void {
  program
    .command('migrate')
    .description(
      'bring the database to this version’s schema, as sync, backfill, import and promote do at their start',
    )
    .addHelpText('after', examples('DATABASE_URL=postgres://etl@db.internal/ton toncenter-etl migrate'))
    .action(() => runCommand(async (invocation) => (await import('../migrate.ts')).migrate(invocation)));
}
