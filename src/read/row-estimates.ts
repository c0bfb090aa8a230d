import { sql } from 'drizzle-orm';
import * as z from 'zod';
import type { Range } from '../range.ts';
import { type Session, type Database, oneValue } from '../postgres/database.ts';
import { bare, insertInto, rangeParam, spanOfRow } from '../postgres/sql.ts';
import { coverage, estimates } from '../tables/etl/coverage.ts';
import { pages } from '../tables/etl/pages.ts';
import { DatabaseError, DatabaseUnavailableError } from '../errors.ts';
import { targetOf } from '../write/target.ts';
import type { Table } from '../dataset/declaration/record.ts';

/** If counting takes longer than this, Postgres' own estimate is used. */
const TIME_LIMIT = '2s';

export interface RowCount {
  readonly table: string;
  readonly rows: number;
  /** False if the number is Postgres' estimate, because counting took too long. */
  readonly exact: boolean;
}

/** Counts the rows of a data table. */
export async function countRows(database: Database, table: Table): Promise<RowCount> {
  const { name, into } = targetOf(table);
  try {
    const rows = await database.transaction(async (session) => {
      await session.run(sql`select set_config('statement_timeout', ${TIME_LIMIT}, true)`);
      return oneValue(session, sql`select count(*) from ${into}`, z.coerce.number());
    });
    return { table: name, rows, exact: true };
  } catch (error) {
    // If the database is down rather than slow, the estimate fails, too.
    if (!(error instanceof DatabaseError) && !(error instanceof DatabaseUnavailableError)) throw error;
    return { table: name, rows: await estimate(database, name), exact: false };
  }
}

/** The approximate number of rows that Postgres maintains: costs next to nothing. */
export async function estimateRows(database: Session, table: Table): Promise<RowCount> {
  const { name } = targetOf(table);
  return { table: name, rows: await estimate(database, name), exact: false };
}

async function estimate(database: Session, name: string): Promise<number> {
  const table = `ton.${name}`;
  return oneValue(
    database,
    sql`select coalesce(sum(greatest(reltuples::int8, n_live_tup, 0)), 0)::int8
        from (select ${table}::regclass as relid union select relid from pg_partition_tree(${table}::regclass)) tree
          join pg_class on pg_class.oid = tree.relid left join pg_stat_user_tables stats on stats.relid = tree.relid
        where relkind = 'r'`,
    z.coerce.number(),
  );
}

/** An estimated number: at least, most likely, at most. */
export interface Guess {
  readonly low: number;
  readonly likely: number;
  readonly high: number;
}

/** The estimate of one dataset in a range. */
interface Expected {
  readonly dataset: string;
  readonly span: Range;
  /** Seconds that were not covered. */
  readonly missing: number;
  readonly rows: Guess;
  readonly requests: Guess;
  readonly disk: Guess;
}

/** Stores an estimate. It replaces an older one of the same range that has no outcome yet. */
export async function keepEstimate(session: Session, expected: Expected): Promise<void> {
  const { dataset, span, missing, rows, requests, disk } = expected;
  await session.run(sql`
    delete from ${estimates} where ${estimates.dataset} = ${dataset} and ${estimates.span} = ${rangeParam(span)}
      and ${estimates.settled_at} is null`);
  await session.run(
    insertInto(estimates, {
      dataset,
      span: rangeParam(span),
      missing,
      rows_low: rows.low,
      rows_likely: rows.likely,
      rows_high: rows.high,
      requests_low: requests.low,
      requests_likely: requests.likely,
      requests_high: requests.high,
      disk_likely: disk.likely,
    }),
  );
}

const Settled = z.object({
  dataset: z.string(),
  span: spanOfRow,
  rows: z.coerce.number(),
  low: z.coerce.number(),
  high: z.coerce.number(),
  realRows: z.coerce.number(),
  requests: z.coerce.number(),
  realRequests: z.coerce.number(),
});

/** An estimate and its outcome. */
export type EstimateOutcome = z.infer<typeof Settled>;

/**
 * Compares the open estimates whose ranges are now covered, in all known pools, with the pages that were read
 * since. Each estimate is closed once and kept. `lacking`: datasets with ranges that are still missing.
 */
export function closeEstimates(
  session: Session,
  range: Range,
  lacking: readonly string[],
): Promise<EstimateOutcome[]> {
  const e = estimates;
  // A window that was full is read again in parts. Only pages that complete something count, and parts of one second.
  const isKept = sql`(${pages.completed} is not null or upper(${pages.span}) = lower(${pages.span}) + 1)`;
  const isCovered = sql`(select bool_and(${coverage.covered} @> ${e.span}) from ${coverage}
    where ${coverage.dataset} = ${e.dataset} and ${coverage.pass} = 0)`;
  return session.rows(
    sql`
      with due as (
        select ${e.id}, coalesce(sum(${pages.rows}) filter (where ${isKept}), 0) as rows, count(${pages.id}) as requests
        from ${e} left join ${pages} on ${pages.dataset} = ${e.dataset} and ${pages.pass} = 0
          and ${pages.span} && ${e.span} and ${pages.committed_at} >= ${e.made_at}
        where ${e.settled_at} is null and ${e.span} <@ ${rangeParam(range)} and ${isCovered}
          and not ${e.dataset} = any(${sql.param([...lacking])}::text[])
        group by ${e.id})
      update ${e} set ${bare(e.rows_real)} = due.rows, ${bare(e.requests_real)} = due.requests,
        ${bare(e.settled_at)} = clock_timestamp()
      from due where ${e.id} = due.id
      returning ${e.dataset}, ${e.span}::text, ${e.rows_likely} as rows, ${e.rows_low} as low, ${e.rows_high} as high,
        ${e.rows_real} as "realRows", ${e.requests_likely} as requests, ${e.requests_real} as "realRequests"`,
    Settled,
  );
}
