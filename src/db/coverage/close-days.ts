import { sql } from 'drizzle-orm';
import { z } from 'zod';
import type { Range } from '../../range.ts';
import { insertInto, setExcluded } from '../connection/sql.ts';
import type { Database } from '../connection/database.ts';
import { closedDays } from '../schema/etl/closed-days.ts';
import { coverage } from '../schema/etl/coverage.ts';
import { writeTransaction } from '../write/write-transaction.ts';

const OpenDay = z.object({ relation: z.string(), day: z.string() });
type OpenDay = z.infer<typeof OpenDay>;

/** Keeps the sums of days that touch a range and are certain now, of every report by day. Returns how many were closed. */
export async function closeDays(database: Database, { from, to }: Range): Promise<number> {
  const days = await database.rows(
    sql`
      with reports as materialized (
        select relation, array_agg(dataset) as streams from etl.feeds
        where relation in (select * from etl.reports_by_day()) group by relation)
      select relation, day::text as day from etl.open_days join reports using (relation)
      where ends > to_timestamp(${from}) and starts < to_timestamp(${to}) and etl.is_certain(streams, starts, ends)
      order by day desc, relation`,
    OpenDay,
  );
  let closed = 0;
  for (const day of days) if (await closeDay(database, day)) closed += 1;
  return closed;
}

/** False where the day changed while it was summed up. */
async function closeDay(database: Database, { relation, day }: OpenDay): Promise<boolean> {
  const definition = sql`md5(pg_get_viewdef(${`etl.open_${relation}`}::regclass))`;
  await writeTransaction(database, async (session) => {
    // A commit under way does not know of the row yet: it is waited for, and those after it see the row.
    await session.run(sql`lock table ${coverage} in share mode`);
    const row = insertInto(closedDays, { relation, day, definition });
    await session.run(
      sql`${row} on conflict (relation, day) do update set ${setExcluded(closedDays.definition)}`,
    );
  });
  const [kept] = await database.rows(
    sql`select etl.keep_day(${relation}, ${day}) as kept`,
    z.object({ kept: z.boolean() }),
  );
  return kept?.kept === true;
}
