import { sql } from 'drizzle-orm';
import { lockOf, type LockMode } from '../../connection/hold-lock.ts';
import { texts } from '../../connection/sql.ts';
import type { Session } from '../../connection/database.ts';
import { endStrayCopies } from '../../coordination/copying.ts';
import { byRank } from './rows-by-table.ts';
import type { Target } from './target.ts';

/**
 * Holds stream tables until the transaction ends, in the order in which commits write them. Whoever writes rows holds
 * them `shared`. Whoever says what is written holds them `alone`: that waits for commits under way and lets none begin.
 * A process that freezes while it copies would be waited for in vain, so its session is ended.
 * These locks are the program's own. A lock on the tables themselves would also wait for an open transaction of a user,
 * or an `analyze`, and hold all commits meanwhile.
 *
 * It comes before rows of coverage are locked: the other way round two transactions could wait for each other.
 */
export async function lockTables(
  session: Session,
  targets: readonly Target[],
  mode: LockMode,
): Promise<void> {
  const ordered = targets.filter(({ facts }) => facts.partitioned).toSorted(byRank);
  if (ordered.length === 0) return;
  if (mode === 'alone') await endStrayCopies(session);
  await session.run(sql`
    select ${lockOf(sql`'rows/' || name`, mode)}
    from (${texts(ordered.map(({ name }) => name))}) as tables (name)`);
}
