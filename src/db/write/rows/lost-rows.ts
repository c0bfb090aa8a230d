import { sql, type SQL } from 'drizzle-orm';
import * as z from 'zod';
import { DatabaseError } from '../../../errors.ts';
import type { Session } from '../../connection/database.ts';
import { during } from '../../connection/seconds.ts';
import { isCurrent, same } from './supersede.ts';
import type { Staged } from './target.ts';

const Kept = z.object({ rows: z.coerce.number() });

/**
 * Holds the rows that were sent against those that are stored: a trigger that somebody added may drop them without an
 * error. Each is looked up by its key: a join with a table that nobody has counted might read all of the other one.
 * @throws DatabaseError where some are not stored
 */
export async function refuseLost(session: Session, { target, count: sent, times }: Staged): Promise<void> {
  const { name, into, staging, facts } = target;
  const isKept = sql`${same('t', 'n', facts.key)}${facts.partitioned ? among(times) : sql``}`;
  const [kept] = await session.rows(
    sql`
      select count(*) as rows from ${staging.name} n
      where (select true from ${into} t where ${isKept} limit 1) or not ${isCurrent(target)}`,
    Kept,
  );
  const lost = sent - (kept?.rows ?? 0);
  if (lost <= 0) return;
  throw new DatabaseError(`ton.${name} took ${sent - lost} of ${sent} rows without an error`, {
    hint: 'A trigger, a rule or a policy drops rows: `doctor` names it.',
  });
}

/** Between which seconds the rows lie: else each partition of the table is planned for, also where there are hundreds. */
function among(times: ReadonlySet<string> = new Set()): SQL {
  if (times.size === 0) return sql``;
  const seconds = [...times].map((time) => Date.parse(time) / 1000);
  return sql` and ${during('t', { from: Math.min(...seconds), to: Math.max(...seconds) + 1 })}`;
}
