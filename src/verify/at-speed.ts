import { sql } from 'drizzle-orm';
import type { Database, Session } from '../db/connection/database.ts';

/**
 * Settings that make queries over a million rows several times as quick. They give room to sort and hash in memory,
 * join by hash instead of by sorting long texts, and compile no query that runs once.
 */
const SETTINGS = sql`select set_config('work_mem', '64MB', true), set_config('enable_mergejoin', 'off', true),
  set_config('jit', 'off', true)`;

/** Runs the queries of a check with the settings for many rows. */
export function atSpeed<T>(database: Database, work: (session: Session) => Promise<T>): Promise<T> {
  return database.transaction(async (session) => {
    await session.run(SETTINGS);
    return work(session);
  });
}
