import { sql } from 'drizzle-orm';
import * as z from 'zod';
import type { Range } from '../range.ts';
import { bare, setExcluded } from '../postgres/sql.ts';
import { type Database, writeTransaction, oneValue } from '../postgres/database.ts';
import { closedDays } from '../tables/etl/verification.ts';
import { coverage } from '../tables/etl/coverage.ts';

const OpenDay = z.object({ relation: z.string(), day: z.string() });
type OpenDay = z.infer<typeof OpenDay>;

/** Open days of reports on which every dataset that feeds them has its highest grade. */
const CERTAIN = sql`
  from etl.open_days d join (
    select relation, array_agg(dataset) as streams from etl.feeds
    where relation in (select * from etl.reports_by_day()) group by relation) r using (relation)
  where etl.is_certain(r.streams, d.starts, d.ends)`;

/** Stores the sums of days that touch a range and are certain, for every report by day. Returns the number of days. */
export async function closeDays(database: Database, { from, to }: Range): Promise<number> {
  const days = await database.rows(
    sql`
      select d.relation, d.day::text as day ${CERTAIN} and d.ends > to_timestamp(${from}) and d.starts < to_timestamp(${to})
      order by d.day desc, d.relation`,
    OpenDay,
  );
  let closed = 0;
  for (const day of days) if (await closeDay(database, day)) closed += 1;
  return closed;
}

/** False if the day changed before or while it was summed up. */
async function closeDay(database: Database, { relation, day }: OpenDay): Promise<boolean> {
  const { relation: name, day: date, definition } = closedDays;
  const digest = sql`md5(pg_get_viewdef(${`etl.open_${relation}`}::regclass))`;
  const isBegun = await writeTransaction(database, async (session) => {
    // Waits for commits in progress, which do not see the new row. Later commits do.
    await session.run(sql`lock table ${coverage} in share mode`);
    return session.run(sql`
      insert into ${closedDays} (${bare(name, date, definition)})
      select d.relation, d.day, ${digest} ${CERTAIN} and d.relation = ${relation} and d.day = ${day}
      on conflict (${bare(name, date)}) do update set ${setExcluded(definition)}`);
  });
  if (isBegun === 0) return false;
  return (
    (await oneValue(database, sql`select etl.keep_day(${relation}, ${day})`, z.boolean().nullable())) === true
  );
}
