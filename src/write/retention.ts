import { sql } from 'drizzle-orm';
import { alias, type PgColumn } from 'drizzle-orm/pg-core';
import * as z from 'zod';
import { type Database, type Session, writeTransaction } from '../postgres/database.ts';
import { bare, multirangeParam, spanOfRow } from '../postgres/sql.ts';
import { endStrayCopies } from '../ledger/leases.ts';
import { coverage, leases, refused, wanted } from '../tables/etl/coverage.ts';
import { partitions } from '../tables/etl/pages.ts';
import { quarantine } from '../tables/etl/quarantine.ts';
import { keepSetting, holdFloors, readFloors } from '../ledger/stored-settings.ts';
import { isAttached, periodOf, type PartitionSize } from './partitions.ts';
import { dropSeals } from './seals.ts';
import { isWrittenSince } from './certificates.ts';
import type { Range } from '../range.ts';
import { DatabaseConflictError, UsageError } from '../errors.ts';
import { takeOutOfCoverage } from '../ledger/stored-coverage.ts';
import { expireFindings } from '../ledger/stored-findings.ts';
import type { Dataset } from '../dataset/dataset.ts';
import { ownTablesOf, factsOf } from '../tables/describe.ts';
import { CONFLICT, retry, type RetryContext } from '../retry.ts';

/** A dataset, its own tables, and the second from which their rows are kept. */
export interface Kept {
  readonly dataset: string;
  readonly tables: readonly string[];
  readonly floor: number;
  /** The lake that was proved to have the rows below the floor. */
  readonly lake?: string;
  /** Number of the last write before that proof: the lake does not have rows that were written later. */
  readonly lastWrite?: number;
}

const Partition = z.object({
  table: z.string(),
  name: z.string(),
  span: spanOfRow,
  bytes: z.coerce.number(),
  rows: z.coerce.number(),
});

const p = alias(partitions, 'p');

/** A partition that lies completely below its table's floor. */
export type Expired = z.infer<typeof Partition>;

/** The partitions that retention would drop, oldest first. Row counts are Postgres' estimates. */
export async function findExpired(session: Session, kept: readonly Kept[]): Promise<Expired[]> {
  const floors = kept.flatMap(({ tables, floor }) => tables.map((table) => ({ table, floor })));
  return session.rows(
    sql`
      select ${p.parent} as table, ${p.name}, ${p.span}::text, pg_total_relation_size(c.oid) as bytes,
        greatest(c.reltuples::int8, s.n_live_tup, 0) as rows
      from json_to_recordset(${JSON.stringify(floors)}::json) as f ("table" text, floor int8)
        join ${partitions} ${p} on ${p.parent} = f.table and upper(${p.span}) <= f.floor
        join pg_class c on c.relname = ${p.name} and c.relnamespace = 'etl_partitions'::regnamespace
        left join pg_stat_user_tables s on s.relid = c.oid
      order by lower(${p.span}), ${p.parent}`,
    Partition,
  );
}

/**
 * Raises the floor: from now on, older seconds are not wanted, read or written. Leases are deleted before coverage,
 * which waits for commits in progress. No new leases are given below the floor, so no page can cover what is about to
 * be dropped.
 * @throws DatabaseConflictError if rows were written there since a lake was proved to have them: the floor stays
 */
export async function raiseFloor(database: Database, one: Kept): Promise<void> {
  const { dataset, tables, floor, lake } = one;
  await writeTransaction(database, async (session) => {
    await holdFloors(session, 'alone');
    const before = await readFloors(session);
    const ofTables = tables.map((table) => [table, floor] as const);
    await keepSetting(session, 'floors', {
      datasets: Object.fromEntries([...before.datasets, [dataset, floor]]),
      tables: Object.fromEntries([...before.tables, ...ofTables]),
      lakes: { ...before.lakes, ...(lake !== undefined && { [dataset]: lake }) },
    });
    await expire(session, dataset, floor);
    for (const table of tables) await requireProved(session, table, { from: 0, to: floor }, one);
  });
}

/** @throws DatabaseConflictError if rows were written since a lake was proved to have them */
async function requireProved(
  session: Session,
  table: string,
  span: Range,
  { lastWrite }: Pick<Kept, 'lastWrite'>,
): Promise<void> {
  if (lastWrite === undefined) return;
  if (await isWrittenSince(session, table, span, lastWrite))
    throw new DatabaseConflictError(`rows of ${table} were written since the lake was proved to have them`);
}

async function expire(session: Session, dataset: string, floor: number): Promise<void> {
  const old = multirangeParam([{ from: 0, to: floor }]);
  const of = (table: { readonly dataset: PgColumn }) => sql`${table.dataset} = ${dataset}`;
  await session.run(sql`
    update ${wanted} set ${bare(wanted.since)} = ${floor}, ${bare(wanted.updated_at)} = default
    where ${of(wanted)} and ${wanted.since} < ${floor}`);
  await takeOutOfCoverage(session, old, { leases: of(leases), coverage: of(coverage) });
  await session.run(sql`delete from ${refused} where ${of(refused)} and ${refused.span} <@ ${old}`);
  await session.run(sql`delete from ${quarantine} where ${of(quarantine)} and ${quarantine.span} <@ ${old}`);
  await expireFindings(session, dataset, floor);
}

/**
 * Drops a partition with its seals. Readers of the table wait for a moment. If a session holds the table for longer,
 * this gives up, so that no queue forms.
 * @throws DatabaseConflictError if a session reads the table, or rows were written since a lake was proved to have them
 */
export async function dropPartition(
  database: Database,
  { table, name, span }: Expired,
  proved: Pick<Kept, 'lastWrite'>,
): Promise<void> {
  await endStrayCopies(database);
  await writeTransaction(database, async (session) => {
    await session.run(sql`select set_config('lock_timeout', '2s', true)`);
    // A partition that a person has detached is left alone.
    const isOurs = (await session.run(sql`select where ${isAttached(table, sql`${name}::text`)}`)) > 0;
    if (isOurs)
      await session.run(sql`
        alter table ton.${sql.identifier(table)} detach partition etl_partitions.${sql.identifier(name)}`);
    // Commits in progress have ended by now.
    await requireProved(session, table, span, proved);
    if (isOurs) await session.run(sql`drop table etl_partitions.${sql.identifier(name)}`);
    await session.run(sql`
      delete from ${partitions} where ${partitions.parent} = ${table} and ${partitions.name} = ${name}`);
    await dropSeals(session, table, span);
  });
}

/**
 * The time from which each dataset is kept. The floor is the beginning of a partition, so that no partition is
 * dropped in part. Rows are kept at least as long as requested, and at most a partition longer.
 * @throws UsageError if a name is not a dataset's, or if the dataset has no table with partitions
 */
export function floorsOf(
  seconds: ReadonlyMap<string, number>,
  jobs: readonly Dataset[],
  now: number,
  size: PartitionSize,
): Kept[] {
  return [...seconds].map(([dataset, keptSeconds]) => {
    const found = jobs.find(({ name }) => name === dataset);
    if (found === undefined) throw new UsageError(`ETL_RETENTION names "${dataset}", which is not a dataset`);
    const tables = ownTablesOf(found, jobs)
      .filter(([, table]) => factsOf(table).partitioned)
      .map(([table]) => table);
    if (tables.length === 0) {
      throw new UsageError(
        `ETL_RETENTION names "${dataset}", whose rows are not kept by time: they cannot expire`,
      );
    }
    return { dataset, tables, floor: periodOf(now - keptSeconds, size).from };
  });
}

interface Pruned {
  readonly dropped: readonly Expired[];
  /**
   * A session was reading these, or rows were written after a lake was proved to have them: the next round drops them.
   */
  readonly left: readonly Expired[];
}

/** Raises the floors, then drops the partitions below them. */
export async function prune(
  database: Database,
  kept: readonly Kept[],
  context: RetryContext,
): Promise<Pruned> {
  const dropped: Expired[] = [];
  const left: Expired[] = [];
  const raised: Kept[] = [];
  for (const one of kept) {
    if (await hadNoConflict(() => raiseFloor(database, one))) raised.push(one);
    else left.push(...(await findExpired(database, [one])));
  }
  for (const expired of raised.length === 0 ? [] : await findExpired(database, raised)) {
    const proved = raised.find(({ tables }) => tables.includes(expired.table)) ?? {};
    const drop = () => retry({ ...context, ...CONFLICT }, () => dropPartition(database, expired, proved));
    ((await hadNoConflict(drop)) ? dropped : left).push(expired);
  }
  return { dropped, left };
}

/** False if other sessions kept reading or writing it: it is left for the next round. */
async function hadNoConflict(work: () => Promise<void>): Promise<boolean> {
  try {
    await work();
    return true;
  } catch (error) {
    if (error instanceof DatabaseConflictError) return false;
    throw error;
  }
}
