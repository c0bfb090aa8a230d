import { allowReading } from '../db/migrate/reader.ts';
import { EXIT, type ExitCode } from '../errors.ts';
import { withLogin } from '../settings/postgres-url.ts';
import { parseDuration } from '../range.ts';
import type { Invocation } from './command.ts';
import { withStore } from './with-store.ts';

interface ReaderFlags {
  readonly name: string;
  readonly timeout: string;
  readonly keepPassword?: boolean;
}

/**
 * `reader`: makes the read-only role and prints its connection string, alone, to stdout; or, where this user may not
 * make roles, the SQL with which an administrator does.
 */
export async function reader(invocation: Invocation, flags: ReaderFlags): Promise<ExitCode> {
  const { name } = flags;
  const timeout = parseDuration(flags.timeout);
  return withStore(invocation, 'toncenter-etl reader', async (store) => {
    const kept = flags.keepPassword === true ? { password: null } : {};
    const { exists, password, left } = await allowReading(store.database, { name, timeout, ...kept });
    if (!exists) {
      console.log(left.join('\n'));
      console.error(
        `the role of this program may not make roles: it lacks CREATEROLE\nhint: Let an administrator run the SQL above in this database, then run reader again. Keep the password that it names.`,
      );
      return EXIT.usage;
    }
    console.log(withLogin(store.url, name, password ?? ''));
    console.error(`${name} reads and does no more. ${passwordLine(password)}`);
    if (store.embedded !== undefined)
      console.error('The embedded server behind it runs only while a command such as sync runs.');
    if (left.length > 0)
      console.error(
        `What is left needs an administrator of the server, in this database:\n${left.join('\n')}`,
      );
    return EXIT.done;
  });
}

function passwordLine(password: string | undefined): string {
  return password === undefined
    ? 'The role was there before: its password stays as it is, and is not in the line above.'
    : 'The password is new: one that was printed before is void.';
}
