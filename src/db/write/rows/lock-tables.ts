import { sql } from 'drizzle-orm';
import { list } from '../../connection/sql.ts';
import type { Session } from '../../connection/database.ts';
import { byRank } from './rows-by-table.ts';
import { targetOf } from './target.ts';

/**
 * Locks stream tables until the transaction ends, in the order in which commits write them. `share` waits for commits
 * under way and lets none begin; `row exclusive` is what a commit takes, for a transaction that locks rows of coverage
 * before it writes: the other way round two of them could wait for each other.
 */
export async function lockTables(
  session: Session,
  tables: readonly object[],
  mode: 'share' | 'row exclusive',
): Promise<void> {
  const targets = tables.map(targetOf).filter(({ facts }) => facts.partitioned);
  if (targets.length === 0) return;
  const names = targets.toSorted(byRank).map(({ into }) => sql`only ${into}`);
  await session.run(sql`lock table ${list(names)} in ${sql.raw(mode)} mode`);
}
