import { sql, type SQL } from 'drizzle-orm';
import { z } from 'zod';
import { formatTime, type Range } from '../../range.ts';
import type { Session } from '../connection/database.ts';
import { targetOf } from '../write/rows/target.ts';

const Neighbours = z.object({
  before: z.coerce.number(),
  after: z.coerce.number(),
});

/**
 * The seconds from a table's last row before `second` to its first row behind it, both included: a record that came
 * between two rows lies there. Looks at most `reachSeconds` far in either direction.
 */
export async function neighbouringSeconds(
  session: Session,
  table: object,
  second: number,
  reachSeconds: number,
): Promise<Range> {
  const at = sql`${formatTime(second)}::timestamptz`;
  const [row] = await session.rows(neighbours(table, at, reachSeconds), Neighbours);
  return { from: row?.before ?? second, to: (row?.after ?? second) + 1 };
}

/** A query of the seconds `before` and `after` a time, as above. */
export function neighbours(table: object, at: SQL, reachSeconds: number): SQL {
  const { into } = targetOf(table);
  const reach = sql`${reachSeconds} * interval '1 second'`;
  const second = (time: SQL) => sql`extract(epoch from ${time})::int8`;
  return sql`
    select ${second(sql`coalesce((select max(utime) from ${into}
        where utime >= ${at} - ${reach} and utime < ${at}), ${at} - ${reach})`)} as before,
      ${second(sql`coalesce((select min(utime) from ${into}
        where utime > ${at} and utime <= ${at} + ${reach}), ${at} + ${reach})`)} as after`;
}
