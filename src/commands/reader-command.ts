import type { Command } from 'commander';
import { allowReading } from '../migrate/reader.ts';
import { EXIT, type ExitCode } from '../errors.ts';
import { parseDuration } from '../range.ts';
import { withLogin } from '../settings/postgres-url.ts';
import { examples, roleName } from './option-words.ts';
import { type Invocation, runCommand, withStore } from './run-command.ts';

export function defineReader(command: Command): void {
  command
    .option('--name <role>', 'the role', roleName, 'toncenter_reader')
    .option('--keep-password', 'keep the password of an existing role, and only grant its rights')
    .option(
      '--strict',
      'take temporary tables, large objects and advisory locks from every role of the database (PUBLIC); always so on the embedded server',
    )
    .option('--timeout <duration>', 'timeout of its statements', '60s')
    .addHelpText(
      'after',
      examples(
        'psql "$(toncenter-etl reader)"  # embedded: while sync runs',
        'toncenter-etl reader --name metabase --timeout 5m  # again: a new password',
      ),
    )
    .action((flags: ReaderFlags) => runCommand((invocation) => reader(invocation, flags)));
}

interface ReaderFlags {
  readonly name: string;
  readonly timeout: string;
  readonly keepPassword?: boolean;
  readonly strict?: boolean;
}

/**
 * `reader`: creates the read-only role and prints only its connection string to stdout. If this user may not create
 * roles, it prints the SQL for an administrator.
 */
async function reader(invocation: Invocation, flags: ReaderFlags): Promise<ExitCode> {
  const { name } = flags;
  const timeout = parseDuration(flags.timeout);
  return withStore(invocation, 'toncenter-etl reader', async (store) => {
    const kept = flags.keepPassword === true ? { password: null } : {};
    // On the embedded server no other application needs what is revoked from PUBLIC.
    const strict = flags.strict === true || store.embedded !== undefined;
    const made = await allowReading(store.database, { name, timeout, strict, ...kept });
    const { exists, password, left, hidden } = made;
    if (!exists) {
      console.log(left.join('\n'));
      console.error(
        `the role of this program cannot create roles: it lacks CREATEROLE\nhint: Let an administrator run the SQL above in this database, then run reader again. Keep the password that it names.`,
      );
      return EXIT.usage;
    }
    console.log(withLogin(store.url, name, password ?? ''));
    console.error(`${name} can read the data and change nothing. ${passwordLine(password)}`);
    if (!strict) console.error(NOT_STRICT);
    if (store.embedded !== undefined)
      console.error('The embedded server behind it runs only while a command such as sync runs.');
    if (left.length > 0)
      console.error(
        `Not all is done: its sessions lack some settings and limits. Let an administrator of the server run this in the database:\n${left.join('\n')}`,
      );
    for (const sentence of hidden) console.error(`It does not see everything: ${sentence}`);
    return left.length + hidden.length === 0 ? EXIT.done : EXIT.usage;
  });
}

const NOT_STRICT =
  'Like any role of this database, it may also take advisory locks, and create temporary tables and large objects. --strict revokes that from PUBLIC, and so from the roles of other applications.';

function passwordLine(password: string | undefined): string {
  return password === undefined
    ? 'The role existed: its password is unchanged, and is not in the line above.'
    : 'The password is new: earlier ones no longer work.';
}
