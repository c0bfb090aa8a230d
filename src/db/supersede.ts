import { sql, type SQL } from 'drizzle-orm';
import type { Session } from './database.ts';
import type { Target } from './insert.ts';
import { leaveReceipt, receiptColumns } from './receipts.ts';

/** The older copy lies at most this long before the newer one: it keeps the search within few partitions. */
const WITHIN = '30 days';

/** Deletes the stored rows that those on the stage replace under another key. */
export async function makeWay(session: Session, target: Target): Promise<void> {
  const { facts, into, stage } = target;
  if (facts.supersedes === undefined) return;
  await session.run(sql`
    with gone as (
      delete from ${into} t using ${stage.name} n
      where ${same(facts.supersedes)} and t.utime < n.utime and t.utime >= n.utime - ${WITHIN}::interval
      returning ${receiptColumns(target, sql`t`)})
    ${leaveReceipt(target, sql`gone`, 'removed')}`);
}

/** True of a new row `n` that is not itself the older copy of a stored one. */
export function isCurrent({ facts, into }: Pick<Target, 'facts' | 'into'>): SQL {
  if (facts.supersedes === undefined) return sql`true`;
  return sql`not exists (select 1 from ${into} t
    where ${same(facts.supersedes)} and t.utime > n.utime and t.utime <= n.utime + ${WITHIN}::interval)`;
}

function same(columns: readonly string[]): SQL {
  const pairs = columns.map((name) => sql`t.${sql.identifier(name)} = n.${sql.identifier(name)}`);
  return sql.join(pairs, sql` and `);
}
