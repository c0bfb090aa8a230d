import { codeOf, DatabaseError, DatabaseUnavailableError, UsageError } from '../../errors.ts';
import type { TextResult } from '../connection/as-text.ts';
import type { Database } from '../connection/database.ts';
import { explainRefusal } from './explain-refusal.ts';

/** read_only_sql_transaction */
const READ_ONLY = '25006';

/**
 * Runs one statement of the user's own with the data's schemas in the search path and times in UTC; every value of the
 * result as Postgres prints it.
 * @throws DatabaseError with Postgres' own words; UsageError for a write where `write` is false: nothing was changed
 */
export async function runSql(
  database: Database,
  text: string,
  { write }: { write: boolean },
): Promise<TextResult> {
  try {
    return await database.asText(text, {
      readOnly: !write,
      settings: { search_path: 'ton, etl, public', TimeZone: 'UTC' },
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

/** Postgres' own words where the transaction was not allowed to write. */
function refusedWrite(error: unknown): string | undefined {
  const cause = error instanceof DatabaseUnavailableError ? error.cause : undefined;
  const isRefused = cause instanceof Error && codeOf(cause) === READ_ONLY;
  return isRefused ? cause.message : undefined;
}
