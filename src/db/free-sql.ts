import type { Database, TextResult } from './database.ts';

/**
 * Runs the user's own statement with the data's schemas in the search path and times in UTC; every value of the result
 * as Postgres prints it.
 * @throws DatabaseError with Postgres' own words; also for a write where `write` is false
 */
export async function runSql(
  database: Database,
  text: string,
  { write }: { write: boolean },
): Promise<TextResult> {
  return database.asText(text, {
    readOnly: !write,
    settings: { search_path: 'ton, etl, public', TimeZone: 'UTC' },
  });
}
