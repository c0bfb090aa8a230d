import { sql } from 'drizzle-orm';
import { z } from 'zod';
import { parseRangeText, type Range } from '../../range.ts';
import type { Session } from '../connection/database.ts';
import { rangeParam } from '../connection/sql.ts';

interface Guess {
  readonly low: number;
  readonly likely: number;
  readonly high: number;
}

const Profile = z.array(
  z.object({ span: z.object({ from: z.number(), to: z.number() }), perSecond: z.number() }),
);

/** What was expected of one dataset in a range. */
interface Expected {
  readonly dataset: string;
  readonly span: Range;
  /** Seconds that were not covered. */
  readonly missing: number;
  readonly rows: Guess;
  readonly requests: Guess;
  readonly disk: Guess;
  readonly profile: z.infer<typeof Profile>;
}

/** Keeps an estimate; an older one of the same range that nothing came of is replaced. */
export async function keepEstimate(session: Session, expected: Expected): Promise<void> {
  const { dataset, span, missing, rows, requests, disk, profile } = expected;
  await session.run(sql`
    delete from etl.estimates where dataset = ${dataset} and span = ${rangeParam(span)} and settled_at is null`);
  await session.run(sql`
    insert into etl.estimates (dataset, span, missing, rows_low, rows_likely, rows_high,
      requests_low, requests_likely, requests_high, disk_likely, profile)
    values (${dataset}, ${rangeParam(span)}, ${missing}, ${rows.low}, ${rows.likely}, ${rows.high},
      ${requests.low}, ${requests.likely}, ${requests.high}, ${disk.likely}, ${JSON.stringify(profile)}::jsonb)`);
}

const Known = z.object({ dataset: z.string(), profile: Profile });

/** How dense each dataset is in a range, by the newest estimate that holds all of it. */
export async function readProfiles(
  session: Session,
  range: Range,
): Promise<ReadonlyMap<string, z.infer<typeof Profile>>> {
  const rows = await session.rows(
    sql`select distinct on (dataset) dataset, profile from etl.estimates
        where span @> ${rangeParam(range)} order by dataset, made_at desc`,
    Known,
  );
  return new Map(rows.map(({ dataset, profile }) => [dataset, profile]));
}

const Settled = z.object({
  dataset: z.string(),
  span: z.string().transform((text) => parseRangeText(text)[0] ?? { from: 0, to: 0 }),
  rows: z.coerce.number(),
  low: z.coerce.number(),
  high: z.coerce.number(),
  realRows: z.coerce.number(),
  requests: z.coerce.number(),
  realRequests: z.coerce.number(),
});

/** An estimate and what came of it. */
export type Settled = z.infer<typeof Settled>;

/**
 * Holds the open estimates whose ranges are covered now against the pages that were read for them since they were made.
 * Each is settled once and kept.
 */
export function settleEstimates(session: Session, range: Range): Promise<Settled[]> {
  return session.rows(
    sql`
      with due as (
        select e.id, coalesce(sum(p.rows), 0) as rows, count(p.id) as requests
        from etl.estimates e left join etl.pages p
          on p.dataset = e.dataset and p.pass = 0 and p.span && e.span and p.committed_at >= e.made_at
        where e.settled_at is null and e.span <@ ${rangeParam(range)}
          and e.span <@ coalesce((select covered from etl.coverage c
            where c.dataset = e.dataset and c.scope = '' and c.pass = 0), '{}')
        group by e.id)
      update etl.estimates e set rows_real = due.rows, requests_real = due.requests, settled_at = clock_timestamp()
      from due where e.id = due.id
      returning dataset, span::text, rows_likely as rows, rows_low as low, rows_high as high, rows_real as "realRows",
        requests_likely as requests, requests_real as "realRequests"`,
    Settled,
  );
}
