import type { Command } from 'commander';
import { EXIT, type ExitCode } from '../errors.ts';
import { examples } from './option-words.ts';
import { type Invocation, runCommand, withStore } from './run-command.ts';

export function defineMigrate(command: Command): void {
  command
    .addHelpText('after', examples('DATABASE_URL=postgres://etl@db.internal/ton toncenter-etl migrate'))
    .action(() => runCommand(migrate));
}

/** `migrate`: brings the schema up to date, as commands that write do at their start. */
function migrate(invocation: Invocation): Promise<ExitCode> {
  return withStore({ ...invocation, migrates: true }, 'toncenter-etl migrate', ({ database }) => {
    console.log(`migrated  ${database.label} has this version's schema`);
    return Promise.resolve(EXIT.done);
  });
}
