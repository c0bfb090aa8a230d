import { openConfined } from '../db/migrate/open-confined.ts';
import type { Database } from '../db/connection/database.ts';
import { runSql, streamSql } from '../db/read/free-sql.ts';
import { DatabaseUnavailableError, EXIT, type ExitCode } from '../errors.ts';
import type { Invocation } from './command.ts';
import { warnOfHiddenRows } from '../app/store.ts';
import { NAMES } from './output/sql/backslash.ts';
import { converse } from './output/sql/converse.ts';
import { summarize } from './output/sql/format-result.ts';
import { createRowWriter, type RowFormatName } from './output/sql/row-writer.ts';
import { openRunner } from './output/sql/run-typed.ts';
import { showResult, type ResultShape } from './output/sql/show-result.ts';
import { parseSql, type SqlFlags } from './parse/sql-flags.ts';
import { stdoutGone } from '../terminal/stdout.ts';
import { withStore, withStoreOnce } from './with-store.ts';

/** The name that Postgres shows for the connection. */
const APPLICATION = 'toncenter-etl sql';

const FROM_SETTING =
  'This is what DATABASE_URL or PGHOST and the like say, with the password if they hold one.';

const FROM_EMBEDDED =
  'It holds a password, and the embedded server behind it runs only while a command such as sync runs.';

/**
 * `sql [STATEMENT]`: runs statements of the user's own, each in a transaction of its own, as a role that can only
 * read, or with `--write` change rows. Results go to stdout, everything else to stderr.
 */
export async function sql(
  invocation: Invocation,
  given: string | undefined,
  flags: SqlFlags,
): Promise<ExitCode> {
  const wanted = await parseSql(given, flags);
  if (wanted.kind === 'url') return printUrl(invocation);
  return withStoreOnce(invocation, APPLICATION, async (store) => {
    const write = flags.write === true;
    const right = write ? 'write' : 'read';
    const database = await openConfined({ ...store, applicationName: APPLICATION, right });
    const run = openRunner((statement, shape, signal) =>
      wanted.format === 'table'
        ? printTable(database, statement, { write, shape, signal })
        : printRows(database, statement, { write, format: wanted.format, signal }),
    );
    const names = async () =>
      (await runSql(database, NAMES, { write: false })).rows.flatMap(([name]) => name ?? []);
    try {
      // A superuser sees all rows, and the role that stands in for one may not.
      if (database !== store.database) await warnOfHiddenRows(database, invocation.logger);
      if (wanted.kind === 'conversation') await converse(database.label, run, names);
      else
        for (const statement of wanted.statements) {
          if (stdoutGone.aborted && !write) break;
          await run(statement);
        }
    } finally {
      if (database !== store.database) await database.close();
    }
    return EXIT.done;
  });
}

interface Running {
  readonly write: boolean;
  /** Ends the statement. */
  readonly signal: AbortSignal | undefined;
}

async function printTable(
  database: Database,
  statement: string,
  { write, shape, signal }: Running & { readonly shape: ResultShape },
): Promise<void> {
  showResult(await runSql(database, statement, { write, signal }), 'table', shape);
}

/** Prints rows as they come: no more than a piece of the result is in memory. */
async function printRows(
  database: Database,
  statement: string,
  { write, format, signal: stopped }: Running & { readonly format: RowFormatName },
): Promise<void> {
  const writer = createRowWriter(format);
  // What writes is done whole, whoever reads of it.
  const signal = AbortSignal.any([...(stopped ? [stopped] : []), ...(write ? [] : [stdoutGone])]);
  try {
    const tag = await streamSql(database, statement, writer, { write, signal });
    console.error(summarize(writer.end(), tag));
  } catch (error) {
    // Whoever read the rows has seen enough, and so the connection was ended.
    if (!stdoutGone.aborted || write || !(error instanceof DatabaseUnavailableError)) throw error;
  }
}

/** `sql --url`: the connection string alone on stdout, for `psql "$(…)"` and programs with a window. */
async function printUrl(invocation: Invocation): Promise<ExitCode> {
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
