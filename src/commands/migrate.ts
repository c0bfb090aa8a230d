import { EXIT, type ExitCode } from '../errors.ts';
import type { Invocation } from './command.ts';
import { withStore } from './with-store.ts';

/** `migrate`: does alone what commands that write what they read do at their start. */
export function migrate(invocation: Invocation): Promise<ExitCode> {
  return withStore({ ...invocation, migrates: true }, 'toncenter-etl migrate', ({ database }) => {
    console.log(`migrated  ${database.label} has this version's schema`);
    return Promise.resolve(EXIT.done);
  });
}
