import { sql, desc, getTableColumns, type SQL, type SQLWrapper } from 'drizzle-orm';
import * as z from 'zod';
import type { PgTable } from 'drizzle-orm/pg-core';
import type { Range } from '../range.ts';
import type { Session } from '../postgres/database.ts';
import { spansOfRow, list } from '../postgres/sql.ts';
import { isLive } from '../ledger/leases.ts';
import { readAllRefused, type RefusedSpan } from '../ledger/stored-coverage.ts';
import { coverage as c, leases as l, coverage, leases, refused, wanted } from '../tables/etl/coverage.ts';
import { cursors } from '../tables/etl/cursors.ts';
import { failures as f, pages as p, pages, failures, partitions, settings } from '../tables/etl/pages.ts';
import { quarantine, schemaDrift as d, schemaDrift } from '../tables/etl/quarantine.ts';
import { spending, budget, workers } from '../tables/etl/budget.ts';

const Row = z.object({ row: z.record(z.string(), z.unknown()) });

const { raw, ...others } = getTableColumns(quarantine);
const WITHOUT_RAW = Object.values(others);
const KIND = [quarantine.dataset, quarantine.path, quarantine.reason];

/**
 * Rows of the program's own tables that show what it has done. No data of the chain, except a few records
 * that did not fit.
 */
const SECTIONS: Readonly<Record<string, SQL>> = {
  migrations: sql`select * from etl.migrations order by created_at`,
  settings: rowsOf(settings, [settings.name]),
  coverage: rowsOf(coverage, [coverage.dataset, coverage.scope, coverage.pass], 200),
  wanted: rowsOf(wanted, [wanted.dataset]),
  leases: rowsOf(leases, [leases.id], 100),
  refused: rowsOf(refused, [refused.dataset, refused.scope, refused.span], 200),
  failures: rowsOf(failures, [failures.dataset], 100),
  schema_drift: rowsOf(schemaDrift, [schemaDrift.dataset, schemaDrift.path], 500),
  quarantine: sql`
    select distinct on (${list(KIND)}) ${list(WITHOUT_RAW)}, left(${raw}, 20000) as raw
    from ${quarantine} order by ${list(KIND)}, ${quarantine.id} limit 20`,
  pages: rowsOf(pages, [desc(pages.id)], 100),
  budget: rowsOf(budget, [budget.host]),
  workers: rowsOf(workers, [workers.worker]),
  partitions: rowsOf(partitions, [partitions.parent, partitions.span], 500),
  sizes: sql`
    select n.nspname as schema, c.relname as name, pg_total_relation_size(c.oid) as bytes, c.reltuples::int8 as rows
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname in ('ton', 'etl', 'etl_partitions') and c.relkind = 'r' order by 3 desc limit 200`,
  server: sql`
    select name, setting, unit from pg_settings where name in ('server_version', 'max_connections', 'shared_buffers',
      'work_mem', 'fsync', 'synchronous_commit', 'wal_level', 'max_wal_size', 'jit', 'TimeZone',
      'default_transaction_isolation', 'max_locks_per_transaction') order by name`,
};

function rowsOf(table: PgTable, order: readonly SQLWrapper[], limit?: number): SQL {
  return sql`select * from ${table} order by ${list(order)} limit ${limit ?? null}`;
}

/** The database's part of a bug report. If a section cannot be read, it contains the reason. */
export async function readBundle(session: Session): Promise<Readonly<Record<string, unknown>>> {
  const bundle: Record<string, unknown> = {};
  for (const [name, query] of Object.entries(SECTIONS)) {
    try {
      const rows = await session.rows(sql`select to_jsonb(s) as row from (${query}) s`, Row);
      bundle[name] = rows.map(({ row }) => row);
    } catch (error) {
      bundle[name] = `cannot be read: ${String(error)}`;
    }
  }
  return bundle;
}

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
