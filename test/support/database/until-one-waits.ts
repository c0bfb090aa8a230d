import { sql } from 'drizzle-orm';
import * as z from 'zod';
import type { Database, Session } from '../../../src/postgres/database.ts';

/**
 * Waits until a statement like this waits for a lock, or for its client. `session`: a transaction that is
 * kept from being idle.
 */
export async function untilOneWaits(
  database: Database,
  session: Session,
  query: string,
  what: 'Lock' | 'Client' = 'Lock',
): Promise<void> {
  const waiting = sql`select 1 as one from pg_stat_activity
    where datname = current_database() and state = 'active' and wait_event_type = ${what} and query like ${query}`;
  while ((await database.rows(waiting, z.object({ one: z.number() }))).length === 0)
    await session.run(sql`select 1`);
}
