import { codeOf, DatabaseError, DatabaseUnavailableError, UsageError } from '../../errors.ts';
import { SQLSTATE } from '../../sqlstate.ts';
import type { RowTaker, TextResult, TextRow } from '../connection/as-text.ts';
import type { Database } from '../connection/database.ts';
import { explainRefusal } from './explain-refusal.ts';

interface FreeSqlOptions {
  readonly write: boolean;
  /** Ends the statement, whose rows nobody wants any more. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Runs one statement of the user's own with the data's schemas in the search path and times in UTC, and hands over each
 * row as it comes, its values as Postgres prints them.
 * @returns what Postgres says that it did: `SELECT 3`, `DELETE 3`
 * @throws DatabaseError with Postgres' own words; UsageError for a write where `write` is false: nothing was changed
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
        hint: 'The statement would write, and reading is all that is allowed unless you say so: add --write.',
      });
    }
    throw error instanceof DatabaseError ? await explainRefusal(database, text, error) : error;
  }
}

/** As `streamSql`, with all rows in memory at once. */
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

/** Postgres' own words where the transaction was not allowed to write. */
function refusedWrite(error: unknown): string | undefined {
  const cause = error instanceof DatabaseUnavailableError ? error.cause : undefined;
  const isRefused = cause instanceof Error && codeOf(cause) === SQLSTATE.readOnlySqlTransaction;
  return isRefused ? cause.message : undefined;
}
