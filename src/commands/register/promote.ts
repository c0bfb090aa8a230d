import type { Command } from 'commander';
import { runCommand } from '../command.ts';
import { examples } from './words.ts';

export function registerPromote(program: Command): void {
  program
    .command('promote')
    .description(
      'copy the embedded database, rows and coverage, to a server of your own; goes on where it stopped',
    )
    .argument('<url>', 'postgres://user:password@host:5432/database, empty or begun by an earlier promote')
    .addHelpText('after', examples('toncenter-etl promote postgres://etl:…@db.internal/ton'))
    .action((url: string) =>
      runCommand(async (invocation) => (await import('../promote.ts')).promote(invocation, url)),
    );
}
