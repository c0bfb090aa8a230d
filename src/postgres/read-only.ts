import { sql } from 'drizzle-orm';
import * as z from 'zod';
import type { Session } from './database.ts';

/** True if the server is a standby, or if the role or the database makes the session read-only. */
export async function readsOnly(session: Pick<Session, 'rows'>): Promise<boolean> {
  const [row] = await session.rows(
    sql`select current_setting('transaction_read_only') = 'on' as reads`,
    z.object({ reads: z.boolean() }),
  );
  return row?.reads === true;
}
