import { text as textOf } from 'node:stream/consumers';
import type { Database } from '../db/connection/database.ts';
import { runSql } from '../db/read/free-sql.ts';
import { EtlError, EXIT, UsageError, type ExitCode } from '../errors.ts';
import { saysSomething, splitSql } from './output/sql-text.ts';
import type { Invocation } from './command.ts';
import { formatResult, summarize, type SqlFormat } from './output/sql-output.ts';
import { reportError } from './output/report-error.ts';
import { prompt } from './output/sql-prompt.ts';
import { withStore } from './with-store.ts';
import { programName } from '../program-name.ts';

interface SqlFlags {
  readonly url?: boolean;
  readonly write?: boolean;
  readonly csv?: boolean;
  readonly json?: boolean;
}

const FROM_SETTING =
  'This is what DATABASE_URL or PGHOST and the like say, with the password if they hold one.';

const FROM_EMBEDDED =
  'It holds a password, and the embedded server behind it runs only while a command such as sync runs.';

/**
 * `sql [STATEMENT]`: runs statements of the user's own, each in a transaction of its own that cannot write unless
 * `--write` says so. Results go to stdout, everything else to stderr.
 */
export async function sql(
  invocation: Invocation,
  given: string | undefined,
  flags: SqlFlags,
): Promise<ExitCode> {
  if (flags.url === true) return printUrl(invocation, given, flags);
  const format = formatOf(flags);
  const interactive = given === undefined && process.stdin.isTTY;
  const statements = interactive ? [] : readStatements(given ?? (await textOf(process.stdin)));
  return withStore(invocation, 'toncenter-etl sql', async (store) => {
    const show = (statement: string) => run(store.database, statement, flags.write === true, format);
    if (interactive) await converse(store.database.label, show);
    for (const statement of statements) await show(statement);
    return EXIT.done;
  });
}

/** `sql --url`: the connection string alone on stdout, for `psql "$(…)"` and programs with a window. */
async function printUrl(
  invocation: Invocation,
  given: string | undefined,
  { write, csv, json }: SqlFlags,
): Promise<ExitCode> {
  if (given !== undefined || write === true || csv === true || json === true) {
    throw new UsageError('--url stands alone: it prints where the database is, and runs nothing');
  }
  const { databaseUrl } = invocation.config;
  if (databaseUrl !== undefined) {
    console.log(databaseUrl);
    console.error(FROM_SETTING);
    return EXIT.done;
  }
  const url = await withStore(invocation, undefined, (store) => Promise.resolve(store.embedded?.url));
  console.log(url ?? '');
  console.error(FROM_EMBEDDED);
  return EXIT.done;
}

function formatOf({ csv, json }: SqlFlags): SqlFormat {
  if (csv === true && json === true) throw new UsageError('--csv and --json exclude each other');
  return csv === true ? 'csv' : json === true ? 'json' : 'table';
}

function readStatements(text: string): string[] {
  const { statements, rest } = splitSql(text);
  const all = saysSomething(rest) ? [...statements, rest] : [...statements];
  if (all.length > 0) return all;
  throw new UsageError('there is no statement', {
    hint: `Give one as argument or on stdin: ${programName} sql "select count(*) from transactions".`,
  });
}

async function run(database: Database, statement: string, write: boolean, format: SqlFormat): Promise<void> {
  const result = await runSql(database, statement, { write });
  if (result.columns.length > 0) console.log(formatResult(result, format, process.stdout.isTTY));
  console.error(summarize(result));
}

async function converse(label: string, show: (statement: string) => Promise<void>): Promise<void> {
  console.error(`${label}: statements end with ; and \\q or Ctrl-D ends`);
  await prompt({
    input: process.stdin,
    output: process.stderr,
    run: async (statement) => {
      try {
        await show(statement);
      } catch (error) {
        if (!(error instanceof EtlError)) throw error;
        reportError(error);
      }
    },
  });
}
