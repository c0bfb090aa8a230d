import { sql } from 'drizzle-orm';
import * as z from 'zod';
import type { Session } from './database.ts';

/** True of a standby, and of a session that the role or the database makes read-only. */
export async function readsOnly(session: Pick<Session, 'rows'>): Promise<boolean> {
  const [row] = await session.rows(
    sql`select current_setting('transaction_read_only') = 'on' as reads`,
    z.object({ reads: z.boolean() }),
  );
  return row?.reads === true;
}
