import { sql } from 'drizzle-orm';
import type { Session } from './database.ts';

/**
 * Holds a lock of this program's own, named as a path, until the transaction ends. Others wait for it; those who hold it
 * `shared` do not wait for each other.
 */
export async function holdLock(
  session: Session,
  name: string,
  mode: 'alone' | 'shared' = 'alone',
): Promise<void> {
  const lock = sql.raw(mode === 'alone' ? 'pg_advisory_xact_lock' : 'pg_advisory_xact_lock_shared');
  await session.run(sql`select ${lock}(hashtextextended(${`toncenter-etl/${name}`}, 0))`);
}
