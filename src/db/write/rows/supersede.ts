import { sql, type SQL } from 'drizzle-orm';
import { formatTime, type Range } from '../../../range.ts';
import type { Session } from '../../connection/database.ts';
import type { Target } from './target.ts';
import { removeRows, type Changed } from '../writes.ts';
import { identifiers } from '../../connection/sql.ts';
import { LONGEST_TRACE } from '../../longest-trace.ts';

/**
 * Deletes the stored rows that those in the staging table replace under another key, and the parts of such rows.
 * @returns which seconds it has changed
 */
export async function makeWay(session: Session, target: Target): Promise<Changed> {
  const { supersedes } = target.facts;
  if (supersedes === undefined) return { target, seconds: null };
  const { columns, of } = supersedes;
  return removeRows(
    session,
    target,
    sql`
      delete from ${target.into} t
      using ${wholes(of)} w, (select distinct utime, ${identifiers(columns)} from ${target.staging.name}) n
      where ${same('w', 'n', columns)} and w.utime < n.utime and w.utime >= n.utime - ${LONGEST_TRACE}::interval
        and ${same('t', 'w', ['utime', ...columns])}`,
  );
}

/**
 * Deletes the stored rows of a range of time that are not in the staging table: the source has them no longer.
 * @returns which seconds it has changed
 */
export async function clearOthers(session: Session, target: Target, { from, to }: Range): Promise<Changed> {
  return removeRows(
    session,
    target,
    sql`
      delete from ${target.into} t
      where t.utime >= ${formatTime(from)} and t.utime < ${formatTime(to)}
        and not exists (select 1 from ${target.staging.name} n where ${same('t', 'n', target.facts.key)})`,
  );
}

/** True of a new row `n` that is not itself (a part of) the older copy of something stored. */
export function isCurrent({ facts }: Pick<Target, 'facts'>): SQL {
  if (facts.supersedes === undefined) return sql`true`;
  const { columns, of } = facts.supersedes;
  return sql`not exists (select 1 from ${wholes(of)} w
    where ${same('w', 'n', columns)} and w.utime > n.utime and w.utime <= n.utime + ${LONGEST_TRACE}::interval)`;
}

function wholes(table: string): SQL {
  return sql`ton.${sql.identifier(table)}`;
}

/** Equality of two rows, named by their aliases, in some columns. */
export function same(a: string, b: string, columns: readonly string[]): SQL {
  const pairs = columns.map(
    (name) =>
      sql`${sql.identifier(a)}.${sql.identifier(name)} = ${sql.identifier(b)}.${sql.identifier(name)}`,
  );
  return sql.join(pairs, sql` and `);
}
