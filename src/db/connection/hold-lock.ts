import { sql } from 'drizzle-orm';
import type { Session } from './database.ts';

/** Holds a lock of this program's own, named as a path, until the transaction ends; others wait for it. */
export async function holdLock(session: Session, name: string): Promise<void> {
  await session.run(sql`select pg_advisory_xact_lock(hashtextextended(${`toncenter-etl/${name}`}, 0))`);
}
