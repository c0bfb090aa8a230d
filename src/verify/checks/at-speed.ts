import { sql } from 'drizzle-orm';
import type { Database, Session, TransactionHow } from '../../postgres/database.ts';

/**
 * Settings that make queries over a million rows several times as quick. They give room to sort and hash in memory,
 * join by hash instead of by sorting long texts, and compile no query that runs once. Every warning is heard, whatever a
 * role makes the default.
 */
const SETTINGS = sql`select set_config('work_mem', '64MB', true), set_config('enable_mergejoin', 'off', true),
  set_config('jit', 'off', true), set_config('client_min_messages', 'warning', true)`;

/**
 * Joins whole lists by hash from here to the end of the check. Of rows that came since Postgres last analyzed the table
 * it expects so few that it would compare each of one list with each of the other.
 */
export async function joinByHash(session: Session): Promise<void> {
  await session.run(sql`select set_config('enable_nestloop', 'off', true)`);
}

/** Runs the queries of a check on one snapshot, with the settings for many rows: what is counted is what was checked. */
export function atSpeed<T>(
  database: Database,
  work: (session: Session) => Promise<T>,
  how: Omit<TransactionHow, 'isSnapshot'> = {},
): Promise<T> {
  return database.transaction(
    async (session) => {
      await session.run(sql`set transaction read only`);
      await session.run(SETTINGS);
      return work(session);
    },
    { ...how, isSnapshot: true },
  );
}
