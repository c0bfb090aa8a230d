import { sql } from 'drizzle-orm';
import * as z from 'zod';
import type { Range } from '../range.ts';
import type { Session } from '../postgres/database.ts';
import { spansOfRow } from '../postgres/sql.ts';
import { isLive } from '../ledger/leases.ts';
import { readAllRefused, type RefusedSpan } from '../ledger/stored-coverage.ts';
import { coverage as c, leases as l } from '../tables/etl/coverage.ts';
import { cursors } from '../tables/etl/cursors.ts';
import { failures as f, pages as p } from '../tables/etl/pages.ts';
import { quarantine, schemaDrift as d } from '../tables/etl/quarantine.ts';

const seconds = z.coerce.number();

const StreamStatus = z.object({
  dataset: z.string(),
  scope: z.string(),
  pass: z.number(),
  covered: spansOfRow,
  verified: spansOfRow,
});

const Failure = z.object({
  dataset: z.string(),
  scope: z.string(),
  code: z.string(),
  message: z.string(),
  hint: z.string().nullable(),
  at: seconds,
});
const Quarantined = z.object({ dataset: z.string(), records: seconds });
const Drift = z.object({
  dataset: z.string(),
  path: z.string(),
  type: z.string(),
  example: z.string().nullable(),
  times: seconds,
  firstAt: seconds,
  lastAt: seconds,
});

/** A member without a column; `example` is JSON text, times are in unix seconds. */
type Drift = z.infer<typeof Drift>;

const Held = z.object({
  dataset: z.string(),
  owner: z.string(),
  priority: z.string(),
  span: spansOfRow,
  expiresIn: seconds,
});

/** The state of the crawl in the database at one point in time. Times in unix seconds. */
export interface Status {
  readonly streams: readonly z.infer<typeof StreamStatus>[];
  readonly refused: readonly RefusedSpan[];
  /**
   * The last error of each dataset, and of each of its pools and walks, if they have committed nothing since;
   * newest first.
   */
  readonly failures: readonly z.infer<typeof Failure>[];
  readonly quarantined: ReadonlyMap<string, number>;
  readonly drift: readonly Drift[];
  readonly leases: readonly z.infer<typeof Held>[];
}

export async function readStatus(session: Session): Promise<Status> {
  const streams = await session.rows(
    sql`select ${c.dataset}, ${c.scope}, ${c.pass}, ${c.covered}::text, ${c.verified}::text
        from ${c} order by ${c.dataset}, ${c.scope}, ${c.pass}`,
    StreamStatus,
  );
  const refused = await readAllRefused(session);
  const failures = await session.rows(
    sql`select ${f.dataset}, ${f.scope}, ${f.code}, ${f.message}, ${f.hint}, extract(epoch from ${f.at})::int8 as at
        from ${f}
        where not exists (select from ${p} where ${p.dataset} = ${f.dataset} and ${p.scope} = ${f.scope} and ${p.committed_at} > ${f.at})
          and not exists (select from ${cursors} where ${cursors.dataset} = ${f.dataset}
            and split_part(${cursors.scope}, ':', 1) = ${f.scope} and ${cursors.updated_at} > ${f.at})
        order by ${f.at} desc, ${f.dataset}, ${f.scope}`,
    Failure,
  );
  const quarantined = await session.rows(
    sql`select ${quarantine.dataset}, count(*) as records from ${quarantine} group by ${quarantine.dataset}`,
    Quarantined,
  );
  const leases = await session.rows(
    sql`select ${l.dataset}, ${l.owner}, ${l.priority}, ${l.span}::text,
          extract(epoch from ${l.expires_at} - clock_timestamp()) as "expiresIn"
        from ${l} where ${isLive} order by ${l.dataset}, lower(${l.span})`,
    Held,
  );
  const counts = new Map(quarantined.map(({ dataset, records }) => [dataset, records]));
  return { streams, refused, failures, quarantined: counts, drift: await readDrift(session), leases };
}

/** Members of the API without a column, newest first. */
function readDrift(session: Session): Promise<Drift[]> {
  return session.rows(
    sql`select ${d.dataset}, ${d.path}, ${d.type}, ${d.example}::text, ${d.times},
          extract(epoch from ${d.first_at})::int8 as "firstAt", extract(epoch from ${d.last_at})::int8 as "lastAt"
        from ${d} order by ${d.first_at} desc, ${d.dataset}, ${d.path}, ${d.type}`,
    Drift,
  );
}

/** The uncovered seconds between the first and the last covered one. */
export function uncoveredBetween(covered: readonly Range[]): Range[] {
  return covered.slice(1).map((range, index) => ({ from: covered[index]?.to ?? range.from, to: range.from }));
}
