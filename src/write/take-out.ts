import { sql } from 'drizzle-orm';
import { alias, type PgColumn } from 'drizzle-orm/pg-core';
import * as z from 'zod';
import { formatTime, type Range } from '../range.ts';
import { subtractCoverage, type Stream, takeOutOfCoverage } from '../ledger/stored-coverage.ts';
import {
  keepSealFindings,
  DEEP,
  isHeldByTraces,
  withdrawTraces,
  expireFindings,
} from '../ledger/stored-findings.ts';
import { type Database, type Session, writeTransaction } from '../postgres/database.ts';
import { targetOf, isAttached, periodOf, type PartitionSize } from './target.ts';
import { insertLease, type Lease, endStrayCopies } from '../ledger/leases.ts';
import { keyText } from './compare-rows.ts';
import { unseal, dropSeals } from './seals.ts';
import { announceWrites, removeRows, unverify, isWrittenSince } from './certificates.ts';
import { findings } from '../tables/etl/verification.ts';
import { traces } from '../tables/ton/traces.ts';
import { coverage, leases, refused, wanted } from '../tables/etl/coverage.ts';
import { multirangeParam, bare, spanOfRow } from '../postgres/sql.ts';
import { belowFloor, holdFloors, keepSetting, readFloors } from '../ledger/stored-settings.ts';
import type { Table } from '../dataset/declaration/record.ts';
import { partitions } from '../tables/etl/pages.ts';
import { quarantine } from '../tables/etl/quarantine.ts';
import { DatabaseConflictError, UsageError } from '../errors.ts';
import type { Dataset } from '../dataset/dataset.ts';
import { ownTablesOf, factsOf } from '../tables/describe.ts';
import { CONFLICT, retry, type RetryContext } from '../clock.ts';

/* Takes seconds out of what is stored: holes that are read again, and what retention does not keep. */

/** Holes of one stream that the process which found them reads again now. */
export interface Reopening {
  readonly stream: Stream;
  readonly owner: string;
  readonly holes: readonly Range[];
  /** Seconds of a table that hold rows which the source does not have: they are removed. */
  readonly surplus: readonly Doubtful[];
  /** Seconds of a table whose rows do not match the seal. The seal is broken, so that the reread rows count. */
  readonly unsealed: readonly Doubtful[];
  /** Tables that are reread. Their rows with a finding are removed: rereading restores them as the source has them. */
  readonly tables?: readonly RereadTable[];
}

interface RereadTable {
  readonly name: string;
  readonly table: Table;
  /** The dataset that the table belongs to. Its pages have every row of the table, in the row's own second. */
  readonly owner: string;
}

interface Doubtful {
  readonly table: Table;
  readonly span: Range;
}

/**
 * Removes holes from coverage and leases them to the process that found them, in one transaction. So no other process
 * can read them in between without knowing that their rows are wrong.
 */
export function reopen(database: Database, reopening: Reopening): Promise<Lease[]> {
  const { stream, holes, owner } = reopening;
  return writeTransaction(database, async (session) => {
    await holdFloors(session, 'shared');
    await takeOut(session, reopening);
    const leases: Lease[] = [];
    for (const hole of holes) {
      const query = sql`select unnest(${multirangeParam([hole])} - ${belowFloor(stream.dataset)}) as span`;
      const lease = await insertLease(session, { stream, owner, priority: 'repair' }, query);
      if (lease !== undefined) leases.push(lease);
    }
    return leases;
  });
}

async function takeOut(session: Session, opening: Reopening): Promise<void> {
  const { stream, holes, surplus, unsealed, tables = [] } = opening;
  const isHeld = isHeldByTraces(stream);
  const locked = [...tables.map(({ table }) => table), ...(isHeld ? [traces] : [])];
  await announceWrites(session, [
    ...surplus.map(({ table, span }) => ({ target: targetOf(table), seconds: [span] })),
    ...locked.map((table) => ({ target: targetOf(table), seconds: [] })),
  ]);
  for (const pass of [1, 0]) await subtractCoverage(session, { ...stream, pass }, holes);
  if (isHeld) await withdrawTraces(session, holes);
  for (const { table, span } of surplus) await emptySeconds(session, table, span);
  for (const table of tables) await removeWrong(session, opening, table);
  for (const { table, span } of [...unsealed, ...surplus]) {
    await keepSealFindings(session, targetOf(table).name, span);
    await unseal(session, table, span);
  }
}

async function emptySeconds(session: Session, table: Table, { from, to }: Range): Promise<void> {
  const target = targetOf(table);
  const deletion = sql`delete from ${target.into} t where t.utime >= ${formatTime(from)} and t.utime < ${formatTime(to)}`;
  await unverify(session, [await removeRows(session, target, deletion)]);
}

/**
 * Removes rows with a finding in these seconds, if rereading this stream restores them. Rows of its own tables are
 * restored. A row in another dataset's table is restored if this stream's pages showed the fault. But if the owner of
 * that table covers the row's second, the row stays until the owner is reread: without it, the owner's coverage would
 * be false.
 */
async function removeWrong(
  session: Session,
  { stream, holes }: Reopening,
  { name, table, owner }: RereadTable,
): Promise<void> {
  const target = targetOf(table);
  const isBroughtBack =
    owner === stream.dataset
      ? sql`true`
      : sql`${findings.found_in} = ${stream.dataset} and not exists (
          select from ${coverage} where ${coverage.dataset} = ${owner} and ${coverage.pass} = 0
            and ${coverage.covered} @> lower(${findings.row_span}))`;
  const named = sql`
    select distinct ${findings.row_key} as key, lower(${findings.row_span}) as second from ${findings}
    where ${findings.dataset} = ${stream.dataset} and ${findings.scope} = ${stream.scope}
      and ${findings.check_name} = ${DEEP} and ${findings.table_name} = ${name} and ${findings.row_key} <> ''
      and ${findings.span} && ${multirangeParam(holes)} and ${isBroughtBack}`;
  const deletion = sql`
    delete from ${target.into} t using (${named}) n
    where t.utime = to_timestamp(n.second::float8) and ${keyText(target, 't')} = n.key`;
  await unverify(session, [await removeRows(session, target, deletion)]);
}

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
async function raiseFloor(database: Database, one: Kept): Promise<void> {
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
