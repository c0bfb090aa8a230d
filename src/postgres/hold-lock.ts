import { sql, type SQL } from 'drizzle-orm';
import type { LockName } from '../locks.ts';
import type { Session } from './database.ts';

/** `shared`: several sessions can hold it at the same time. */
export type LockMode = 'alone' | 'shared';

/** An expression that takes one of this program's advisory locks until the transaction ends; `path` is a text. */
export function lockOf(path: SQL, mode: LockMode): SQL {
  const lock = sql.raw(mode === 'alone' ? 'pg_advisory_xact_lock' : 'pg_advisory_xact_lock_shared');
  return sql`${lock}(hashtextextended('toncenter-etl/' || ${path}, 0))`;
}

/** Takes one of this program's advisory locks until the transaction ends, and waits if another session holds it. */
export async function holdLock(session: Session, name: LockName, mode: LockMode = 'alone'): Promise<void> {
  await session.run(sql`select ${lockOf(sql`${name}::text`, mode)}`);
}
