import { sql, type SQL } from 'drizzle-orm';
import type { LockName } from '../locks.ts';
import type { Session } from './database.ts';

/** `shared`: those who hold it so do not wait for each other. */
export type LockMode = 'alone' | 'shared';

/** Takes a lock of this program's own until the transaction ends, within a statement; `path` is a text. */
export function lockOf(path: SQL, mode: LockMode): SQL {
  const lock = sql.raw(mode === 'alone' ? 'pg_advisory_xact_lock' : 'pg_advisory_xact_lock_shared');
  return sql`${lock}(hashtextextended('toncenter-etl/' || ${path}, 0))`;
}

/** Holds a lock of this program's own until the transaction ends; others wait for it. */
export async function holdLock(session: Session, name: LockName, mode: LockMode = 'alone'): Promise<void> {
  await session.run(sql`select ${lockOf(sql`${name}::text`, mode)}`);
}
