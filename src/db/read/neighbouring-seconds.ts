import { sql } from 'drizzle-orm';
import { z } from 'zod';
import { formatTime, type Range } from '../../range.ts';
import type { Session } from '../connection/database.ts';
import { targetOf } from '../write/rows/target.ts';

const Neighbours = z.object({
  before: z.coerce.number().nullable(),
  after: z.coerce.number().nullable(),
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
  const { into } = targetOf(table);
  const [earliest, latest] = [second - reachSeconds, second + reachSeconds];
  const [row] = await session.rows(
    sql`
      select
        (select extract(epoch from max(utime))::int8 from ${into}
          where utime >= ${formatTime(earliest)}::timestamptz and utime < ${formatTime(second)}::timestamptz) as before,
        (select extract(epoch from min(utime))::int8 from ${into}
          where utime > ${formatTime(second)}::timestamptz and utime <= ${formatTime(latest)}::timestamptz) as after`,
    Neighbours,
  );
  return { from: row?.before ?? earliest, to: (row?.after ?? latest) + 1 };
}
