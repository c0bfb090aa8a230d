import { runSql } from '../db/read/free-sql.ts';
import { EXIT, type ExitCode } from '../errors.ts';
import type { Invocation } from './command.ts';
import { converse } from './output/sql/converse.ts';
import { formatResult, summarize } from './output/sql/format-result.ts';
import { parseSql, type SqlFlags } from './parse/sql-flags.ts';
import { withStore } from './with-store.ts';

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
  const wanted = await parseSql(given, flags);
  if (wanted.kind === 'url') return printUrl(invocation);
  return withStore(invocation, 'toncenter-etl sql', async ({ database }) => {
    const show = async (statement: string) => {
      const result = await runSql(database, statement, { write: flags.write === true });
      if (result.columns.length > 0) console.log(formatResult(result, wanted.format, process.stdout.isTTY));
      console.error(summarize(result));
    };
    if (wanted.kind === 'conversation') await converse(database.label, show);
    else for (const statement of wanted.statements) await show(statement);
    return EXIT.done;
  });
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
