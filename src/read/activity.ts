import { sql } from 'drizzle-orm';
import * as z from 'zod';
import type { Range } from '../range.ts';
import { type Session, oneRow } from '../postgres/database.ts';
import { rangeParam } from '../postgres/sql.ts';
import { spending } from '../tables/etl/budget.ts';
import { coverage } from '../tables/etl/coverage.ts';
import { pages } from '../tables/etl/pages.ts';

/** The number of newest pages that count. */
const NEWEST = 50_000;

const Moment = z.object({
  at: z.coerce.number(),
  dataset: z.string(),
  rows: z.coerce.number(),
  requests: z.coerce.number(),
  /** The sum over all requests, including concurrent ones. */
  waitedMs: z.coerce.number(),
});

/** What was committed of a dataset within some seconds. */
export type BusyMoment = z.infer<typeof Moment>;

/** Recent commits of all processes, in steps of `seconds`; `at` is the number of the step. */
export function readBusyMoments(session: Session, seconds: number): Promise<BusyMoment[]> {
  return session.rows(
    sql`
      select floor(extract(epoch from ${pages.committed_at}) / ${seconds}::int)::int8 as at, ${pages.dataset},
        sum(${pages.rows}) as rows, count(*) as requests, sum(${pages.ms}) as "waitedMs"
      from ${pages} where ${pages.id} > (select max(p.id) from ${pages} p) - ${NEWEST}::int group by 1, 2`,
    Moment,
  );
}

const Minute = z.object({
  dataset: z.string(),
  /** Start of the minute, unix seconds. */
  minute: z.coerce.number(),
  pages: z.coerce.number(),
  rows: z.coerce.number(),
  bytes: z.coerce.number(),
  /** Mean milliseconds of a page. */
  ms: z.coerce.number(),
  /** Seconds between the newest second completed in this minute and its commit; null if none was completed. */
  lag: z.coerce.number().nullable(),
});

/** The activity of one dataset in one minute of the database's clock, from the log of pages. */
export type Activity = z.infer<typeof Minute>;

/** The minutes of each dataset since a time (unix seconds), oldest first. */
export function readActivity(session: Session, since: number): Promise<Activity[]> {
  return session.rows(
    sql`select ${pages.dataset}, extract(epoch from date_trunc('minute', ${pages.committed_at}))::int8 as minute,
          count(*) as pages, sum(${pages.rows}) as rows, sum(${pages.bytes}) as bytes, avg(${pages.ms}) as ms,
          min(extract(epoch from ${pages.committed_at}) - upper(${pages.completed})) as lag
        from ${pages}
        where ${pages.committed_at} >= to_timestamp(${since}::float8)
          and ${pages.dataset} in (select distinct ${coverage.dataset} from ${coverage})
        group by 1, 2 order by 2, 1`,
    Minute,
  );
}

const Spent = z.object({ minute: z.coerce.number(), priority: z.string(), requests: z.coerce.number() });

/** Requests of all processes in one minute, by priority. */
export type SpentMinute = z.infer<typeof Spent>;

/** The minutes since a time (unix seconds), oldest first. */
export function readSpentMinutes(session: Session, since: number): Promise<SpentMinute[]> {
  return session.rows(
    sql`select extract(epoch from ${spending.minute})::int8 as minute, ${spending.priority},
          sum(${spending.requests}) as requests
        from ${spending} where ${spending.minute} >= to_timestamp(${since}::float8) group by 1, 2 order by 1, 2`,
    Spent,
  );
}

const Sum = z.object({ rows: z.coerce.number(), seconds: z.coerce.number() });

/** Rows and seconds that pages of first readings completed in a range: its density, as far as it was read. */
export async function readDensity(
  session: Session,
  dataset: string,
  range: Range,
): Promise<z.infer<typeof Sum>> {
  return oneRow(
    session,
    sql`select coalesce(sum(${pages.rows}), 0) as rows,
          coalesce(sum(upper(${pages.completed}) - lower(${pages.completed})), 0) as seconds
        from ${pages}
        where ${pages.dataset} = ${dataset} and ${pages.pass} = 0 and ${pages.span} && ${rangeParam(range)}`,
    Sum,
  );
}
