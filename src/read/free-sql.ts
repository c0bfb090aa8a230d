import { sql } from 'drizzle-orm';
import pg from 'pg';
import * as z from 'zod';
import { codeOf, DatabaseError, DatabaseUnavailableError, UsageError } from '../errors.ts';
import { SQLSTATE, SQLSTATE_CLASS, sqlstates } from '../sqlstate.ts';
import type { RowTaker, TextResult, TextRow } from '../postgres/sql.ts';
import type { Database } from '../postgres/database.ts';
import { nearestName } from '../nearest.ts';

interface FreeSqlOptions {
  readonly write: boolean;
  /** Aborts the statement when its rows are not needed any more. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Runs one statement of the user with the data's schemas in the search path and times in UTC. Passes on each row as it
 * comes, with its values as Postgres prints them.
 * @returns Postgres' command tag: `SELECT 3`, `DELETE 3`
 * @throws DatabaseError with Postgres' own message; UsageError for a write if `write` is false: nothing was changed
 */
export async function streamSql(
  database: Database,
  text: string,
  taker: RowTaker,
  { write, signal }: FreeSqlOptions,
): Promise<string> {
  try {
    return await database.streamAsText(text, {
      readOnly: !write,
      settings: { search_path: 'pg_catalog, ton, etl, public', TimeZone: 'UTC' },
      taker,
      signal,
    });
  } catch (error) {
    const refusal = write ? undefined : refusedWrite(error);
    if (refusal !== undefined) {
      throw new UsageError(`nothing was changed: ${refusal}`, {
        cause: error,
        hint: 'The statement would write, and sql is read-only by default: add --write.',
      });
    }
    const refused = ofStatement(error);
    throw refused instanceof DatabaseError ? await explainRefusal(database, text, refused) : refused;
  }
}

/** Like `streamSql`, with all rows in memory at once. */
export async function runSql(database: Database, text: string, options: FreeSqlOptions): Promise<TextResult> {
  const columns: string[] = [];
  const rows: TextRow[] = [];
  const taker: RowTaker = {
    columns: (names) => void columns.push(...names),
    row(values) {
      rows.push(values);
      return undefined;
    },
  };
  const command = await streamSql(database, text, taker, options);
  return { columns, rows, command };
}

/** Postgres' own message if the transaction was read-only. */
function refusedWrite(error: unknown): string | undefined {
  const cause = error instanceof DatabaseUnavailableError ? error.cause : undefined;
  const isRefused = cause instanceof Error && codeOf(cause) === SQLSTATE.readOnlySqlTransaction;
  return isRefused ? cause.message : undefined;
}

/** Postgres has no better codes for a value that is too large for its memory, or for a file that a statement names. */
const OF_STATEMENT = sqlstates(SQLSTATE_CLASS.internalError, SQLSTATE_CLASS.systemError);

/** Such an error of a statement that a person wrote: the same statement fails again, so a retry does not help. */
function ofStatement(error: unknown): unknown {
  const cause = error instanceof DatabaseUnavailableError ? error.cause : undefined;
  const code = codeOf(cause) ?? '';
  return cause instanceof Error && OF_STATEMENT.test(code)
    ? new DatabaseError(`the database refused: ${cause.message} (${code})`, { cause })
    : error;
}

const NAMED = /(?:relation|column|function) "?([^"( ]+)/;

const Name = z.object({ name: z.string() });

/** The same error with the position in the statement, its detail, and a hint. */
async function explainRefusal(
  database: Database,
  statement: string,
  error: DatabaseError,
): Promise<DatabaseError> {
  const { cause } = error;
  if (!(cause instanceof pg.DatabaseError)) return error;
  const lines = [error.message, ...placeLines(statement, Number(cause.position)), cause.detail];
  const near = await nearest(database, statement, cause);
  // For a column, Postgres itself names the nearest one; for a function, it only says that there is none.
  const [first, second] = cause.code === SQLSTATE.undefinedFunction ? [near, cause.hint] : [cause.hint, near];
  const hint = first ?? second ?? error.hint;
  return new DatabaseError(lines.filter((line) => line !== undefined).join('\n'), {
    cause,
    ...(hint === undefined ? {} : { hint }),
  });
}

/** `position` counts characters from 1; NaN if Postgres names none. */
function placeLines(statement: string, position: number): string[] {
  if (!(position >= 1)) return [];
  const before = Array.from(statement)
    .slice(0, position - 1)
    .join('');
  const number = before.split('\n').length;
  const line = statement.split('\n')[number - 1] ?? '';
  const head = `LINE ${number}: `;
  const column = before.length - (before.lastIndexOf('\n') + 1);
  // Keeps tabs, which move the caret as they move the line.
  const indent = line.slice(0, column).replaceAll(/[^\t]/g, ' ');
  return [`${head}${line}`, `${' '.repeat(head.length)}${indent}^`];
}

async function nearest(
  database: Database,
  statement: string,
  { code, message }: pg.DatabaseError,
): Promise<string | undefined> {
  const typed = NAMED.exec(message)?.[1];
  const query = namesLike(code, statement);
  if (typed === undefined || query === undefined) return undefined;
  const named = typed.replace(/^.*\./, '');
  const names = (await database.rows(query, Name)).map(({ name }) => name);
  // A function of this name exists, but not for these arguments.
  if (code === SQLSTATE.undefinedFunction && names.includes(named)) return undefined;
  const near = nearestName(
    named,
    names.filter((name) => name !== typed && (name !== named || code === SQLSTATE.undefinedTable)),
  );
  return near === undefined ? undefined : `Did you mean ${near}?`;
}

/** The candidates for a misspelled name; for columns, those of the relations in the statement. */
function namesLike(code: string | undefined, statement: string) {
  if (code === SQLSTATE.undefinedFunction) return sql`select distinct proname::text as name from pg_proc`;
  const relations = sql`pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname in ('ton', 'etl') and c.relkind in ('r', 'p', 'v')`;
  if (code === SQLSTATE.undefinedTable) return sql`select c.relname::text as name from ${relations}`;
  if (code !== SQLSTATE.undefinedColumn) return undefined;
  const words = sql.param(statement.toLowerCase().match(/\w+/g) ?? []);
  return sql`
    select distinct a.attname::text as name from pg_attribute a
    where a.attnum > 0 and not a.attisdropped
      and a.attrelid in (select c.oid from ${relations} and c.relname = any(${words}::text[]))`;
}
