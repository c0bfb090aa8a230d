import { EXIT, type ExitCode } from '../errors.ts';
import type { Invocation } from './command.ts';
import { withStore } from './with-store.ts';

/** `migrate`: does alone what every command does at its start. */
export function migrate(invocation: Invocation): Promise<ExitCode> {
  return withStore(invocation, 'toncenter-etl migrate', ({ database }) => {
    console.log(`migrated  ${database.label} has this version's schema`);
    return Promise.resolve(EXIT.done);
  });
}
