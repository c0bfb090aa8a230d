import { sql } from 'drizzle-orm';
import * as z from 'zod';
import type { Session } from '../postgres/database.ts';
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
