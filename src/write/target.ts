import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { getTableColumns, getTableName, is, sql, type SQL } from 'drizzle-orm';
import { PgTable, type PgColumn } from 'drizzle-orm/pg-core';
import * as z from 'zod';
import { LOCKS } from '../locks.ts';
import {
  lockOf,
  type LockMode,
  type Session,
  type Database,
  writeTransaction,
  holdLock,
} from '../postgres/database.ts';
import { identifiers, texts, prerendered, insertInto, rangeParam, spanOfRow } from '../postgres/sql.ts';
import { endStrayCopies } from '../ledger/leases.ts';
import { factsOf, type TableFacts } from '../tables/describe.ts';
import { secondOfTime, spanOfSecond, union, type Range, DAY, formatRange, formatTime } from '../range.ts';
import type { Table } from '../dataset/declaration/record.ts';
import { DatabaseConflictError, WrongDatabaseError } from '../errors.ts';
import { partitions } from '../tables/etl/pages.ts';

/** The length of time that one partition holds. */
export type PartitionSize = 'day' | 'week' | 'month';

const FIRST_MONDAY = Date.UTC(1970, 0, 5) / 1000;

export type Partitions = ReturnType<typeof createPartitions>;

/** Creates the partitions that rows need, before the transaction that writes them. */
export function createPartitions(database: Database, size: PartitionSize) {
  const known = new Set<string>();
  return {
    size,
    /** Drops the cache: another process may have dropped expired partitions. */
    forget: () => known.clear(),
    /** Resolves when every table has partitions for all of the times (ISO 8601). */
    async ensure(tables: readonly Table[], times: Iterable<string>): Promise<void> {
      const periods = new Map<number, Range>();
      for (const time of times) {
        const period = periodOf(secondOfTime(time), size);
        periods.set(period.from, period);
      }
      for (const { name } of tables.map(targetOf).filter(({ facts }) => facts.partitioned)) {
        for (const period of periods.values()) {
          const key = `${name}/${period.from}`;
          if (known.has(key)) continue;
          await makePartition(database, name, period);
          known.add(key);
        }
      }
    },
  };
}

/** The whole day, week (from Monday) or month in UTC that a second lies in. */
export function periodOf(time: number, size: PartitionSize): Range {
  if (size === 'month') {
    const date = new Date(time * 1000);
    const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
    return { from: Date.UTC(year, month) / 1000, to: Date.UTC(year, month + 1) / 1000 };
  }
  const [length, origin] = size === 'week' ? [7 * DAY, FIRST_MONDAY] : [DAY, 0];
  const from = origin + Math.floor((time - origin) / length) * length;
  return { from, to: from + length };
}

/**
 * `create … like` and `attach` take weak locks; `create … partition of` would block every reader. If partitions of
 * another size exist, only the free time between them is filled.
 */
async function makePartition(database: Database, parent: string, period: Range): Promise<void> {
  await writeTransaction(database, async (session) => {
    await holdPartitions(session, parent);
    await forgetDetached(session, parent, period);
    for (const free of await freeSpans(session, parent, period)) {
      await makeTable(session, parent, nameOf(parent, free));
      await attach(session, parent, free);
    }
  });
}

const Detached = z.object({ name: z.string(), span: spanOfRow, exists: z.boolean() });

/**
 * Forgets partitions of a period that a person has dropped, so that they are created again.
 * @throws WrongDatabaseError if one is detached: its rows exist, and only a person can decide about them
 */
async function forgetDetached(session: Session, parent: string, period: Range): Promise<void> {
  const detached = await session.rows(
    sql`
      with places as (
        select ${partitions.name} as name, ${partitions.span} as span, true as listed from ${partitions}
        where ${partitions.parent} = ${parent} and ${partitions.span} && ${rangeParam(period)}
        union all
        select ${nameOf(parent, period)}, ${rangeParam(period)}, false)
      select name, span::text, there is not null as "exists"
      from places, to_regclass('etl_partitions.' || quote_ident(name)) there
      where (listed or there is not null) and not ${isAttached(parent, sql`name`)}`,
    Detached,
  );
  const [kept] = detached.filter(({ exists }) => exists);
  if (kept !== undefined)
    throw new WrongDatabaseError(
      `the table etl_partitions.${kept.name} was detached from ton.${parent} and still exists`,
      {
        hint: `Attach it: alter table ton.${parent} attach partition etl_partitions.${kept.name} for values ${boundsOf(kept.span)}; or, if its rows may be lost and read again: drop table etl_partitions.${kept.name}.`,
      },
    );
  for (const { name } of detached)
    await session.run(sql`delete from ${partitions} where ${partitions.name} = ${name}`);
}

/** True if a table is attached as a partition and is not being detached, within a statement. */
export function isAttached(parent: string, name: SQL): SQL {
  return sql`exists (
    select from pg_inherits where inhrelid = to_regclass('etl_partitions.' || quote_ident(${name})) and not inhdetachpending
      and inhparent = to_regclass('ton.' || quote_ident(${parent})))`;
}

/** Locks out other processes that create partitions of the table, until the transaction ends. */
async function holdPartitions(session: Session, parent: string): Promise<void> {
  await holdLock(session, `${LOCKS.partitions}/${parent}`);
}

/** True if a table has no partition that overlaps a period. */
export async function isFree(session: Session, parent: string, period: Range): Promise<boolean> {
  const [free] = await freeSpans(session, parent, period);
  return free?.from === period.from && free.to === period.to;
}

/**
 * Attaches a table that was filled under another name as a partition.
 * @throws DatabaseConflictError if another process has created one of the period meanwhile
 */
export async function attachFilled(
  session: Session,
  parent: string,
  { period, name }: { readonly period: Range; readonly name: string },
): Promise<void> {
  await holdPartitions(session, parent);
  await forgetDetached(session, parent, period);
  if (!(await isFree(session, parent, period)))
    throw new DatabaseConflictError(
      `another process has created a partition of ${parent} for ${formatRange(period)}`,
    );
  await session.run(sql`alter table ${tableNamed(name)} rename to ${sql.identifier(nameOf(parent, period))}`);
  await attach(session, parent, period);
}

const Span = z.object({ from: z.coerce.number(), to: z.coerce.number() });

async function freeSpans(session: Session, parent: string, period: Range): Promise<Range[]> {
  return session.rows(
    sql`
      with free as (
        select unnest(int8multirange(${rangeParam(period)}) - coalesce(range_agg(${partitions.span}), '{}')) as span
        from ${partitions} where ${partitions.parent} = ${parent} and ${partitions.span} && ${rangeParam(period)})
      select lower(span) as "from", upper(span) as "to" from free`,
    Span,
  );
}

/** The name of a table's partition for a period. */
export function nameOf(parent: string, { from }: Range): string {
  return `${parent}_${formatTime(from).slice(0, 10).replaceAll('-', '_')}`;
}

/** A table in the schema of partitions, within a statement. */
export function tableNamed(name: string): SQL {
  return sql`etl_partitions.${sql.identifier(name)}`;
}

/** Creates a table that can become a partition. Its parent does not show its rows yet. */
export async function makeTable(session: Session, parent: string, name: string): Promise<void> {
  await session.run(
    sql`create table ${tableNamed(name)}
      (like ton.${sql.identifier(parent)} including defaults including generated including constraints including storage
        including statistics)`,
  );
}

function boundsOf({ from, to }: Range): string {
  return `from ('${formatTime(from)}') to ('${formatTime(to)}')`;
}

async function attach(session: Session, parent: string, span: Range): Promise<void> {
  const name = nameOf(parent, span);
  const bounds = sql.raw(boundsOf(span));
  await session.run(
    sql`alter table ton.${sql.identifier(parent)} attach partition ${tableNamed(name)} for values ${bounds}`,
  );
  await session.run(insertInto(partitions, { parent, span: rangeParam(span), name }));
}

/** A column that is written. In a `json` column a string is JSON, too, and is quoted; an `array` holds texts. */
export interface CopyColumn {
  readonly name: string;
  readonly kind: 'text' | 'json' | 'array';
}

/** Facts about a table for statements, computed once. */
export interface Target {
  readonly table: Table;
  readonly name: string;
  /** Names of the columns that are written. */
  readonly columns: readonly string[];
  readonly facts: TableFacts;
  /** The table's name within a statement. */
  readonly into: SQL;
  readonly staging: StagingTable;
  /** The COPY statement that fills the table directly. */
  readonly copy: SQL;
}

const targets = new WeakMap<object, Target>();

/** Throws a TypeError if it is not a described Drizzle table. */
export function targetOf(table: Table): Target {
  const known = targets.get(table);
  if (known !== undefined) return known;
  if (!is(table, PgTable)) throw new TypeError('not a Drizzle table');
  const name = getTableName(table);
  const into = sql`${table}`;
  const facts = factsOf(table);
  const written = Object.values(getTableColumns(table)).filter(isWritten);
  const columns = written.map((column) => column.name);
  const target = {
    table,
    name,
    columns,
    facts,
    into,
    staging: stagingTableOf({ name, into, columns: written }),
    copy: prerendered(sql`copy ${into} (${identifiers(columns)}) from stdin`),
  };
  targets.set(table, target);
  return target;
}

/** Excludes generated columns, and those with a default, which would become null because rows lack them. */
function isWritten(column: PgColumn): boolean {
  return column.generated === undefined && column.generatedIdentity === undefined && !column.hasDefault;
}

/** A temporary table with the written columns of another one. Rows wait in it to be inserted. */
interface StagingTable {
  readonly columns: readonly CopyColumn[];
  /** Its name within a statement. */
  readonly name: SQL;
  /** Creates it, once in a session, and begins to fill it. */
  readonly copy: SQL;
}

/** The staging table of a table. Its name depends on its columns, because versions share pooled sessions. */
function stagingTableOf(table: { name: string; into: SQL; columns: readonly PgColumn[] }): StagingTable {
  const columns = table.columns.map((column) => ({ name: column.name, type: column.getSQLType() }));
  const digest = createHash('sha256').update(JSON.stringify(columns)).digest('hex').slice(0, 8);
  const own = sql.identifier(`${table.name}_${digest}`);
  const name = sql`pg_temp.${own}`;
  const names = identifiers(columns.map((column) => column.name));
  return {
    columns: columns.map(({ name: column, type }) => ({
      name: column,
      kind: type === 'jsonb' ? 'json' : type.endsWith('[]') ? 'array' : 'text',
    })),
    name,
    // Each commit empties it; the delete is for a table that is filled twice in one transaction.
    copy: prerendered(sql`
      create temp table if not exists ${own} on commit delete rows as select ${names} from ${table.into} with no data;
      delete from ${name};
      copy ${name} from stdin`),
  };
}

export function byRank(a: Target, b: Target): number {
  return rank(a) < rank(b) ? -1 : 1;
}

/**
 * Parts come before their wholes: as long as an older copy of a whole is stored, it shows which parts are outdated.
 * Tables whose rows are on several pages come last: a page with the same row waits until the first one has committed.
 * Versions come after the thing itself, whose row is locked then: no other commit compares with the same last version.
 */
function rank({ name, facts }: Target): string {
  const isPart = facts.supersedes !== undefined && facts.supersedes.of !== name;
  const whole = facts.shared === undefined && facts.conflict.kind !== 'version' ? 1 : 2;
  return `${isPart ? 0 : whole} ${name}`;
}

/**
 * Locks stream tables until the transaction ends, in the order in which commits write them. A transaction that writes
 * rows locks them `shared`. One that certifies what is stored locks them `alone`: it waits for commits in progress and
 * lets none begin. A process that freezes while it copies would block it, so its session is terminated. These locks
 * belong to the program. A lock on the tables themselves would also wait for a user's open transaction or an `analyze`,
 * and block all commits meanwhile.
 *
 * Call it before rows of coverage are locked. In the other order, two transactions could deadlock.
 */
export async function lockTables(
  session: Session,
  targets: readonly Target[],
  mode: LockMode,
): Promise<void> {
  const ordered = targets.filter(({ facts }) => facts.partitioned).toSorted(byRank);
  if (ordered.length === 0) return;
  if (mode === 'alone') await endStrayCopies(session);
  await session.run(sql`
    select ${lockOf(sql`${`${LOCKS.rows}/`}::text || name`, mode)}
    from (${texts(ordered.map(({ name }) => name))}) as tables (name)`);
}

/*
 * Which copy of a row wins: `conflict` in the `describe` of its table decides. Two copies meet in SQL if one is stored,
 * or here if one page has both.
 */

/**
 * The time when a stored row was changed: later than the stored time, and later than the time of new rows (`began`). So
 * an inserted row can be distinguished from an updated one, although partitioned tables do not return `xmax`. It
 * depends only on the row and the parameter, so that a replayed statement gives the same row.
 */
const changedAt = (began: SQL) => sql`loaded_at = greatest(t.loaded_at, ${began}) + interval '1 microsecond'`;

/** True of a column that some copies of a row lack: there a null does not contradict a value. */
export function mayLack({ conflict, lacking = [] }: TableFacts, name: string): boolean {
  if (name === 'extra' || lacking.includes(name)) return true;
  return conflict.kind === 'fill' && conflict.columns.includes(name);
}

/** The clause for rows whose key is stored already, with alias `t`. New rows get the time `began`. */
export function onConflict({ conflict, key }: TableFacts, columns: readonly string[], began: SQL): SQL {
  const changed = changedAt(began);
  const target = sql`on conflict (${identifiers(key)})`;
  if (conflict.kind === 'keep' || conflict.kind === 'version') return sql`${target} do nothing`;
  if (conflict.kind === 'fill') {
    const filled = conflict.columns.map(
      (name) => sql`t.${sql.identifier(name)} is null and excluded.${sql.identifier(name)} is not null`,
    );
    return sql`${target} do update set ${assignments(conflict.columns, fill)}, ${changed} where ${sql.join(filled, sql` or `)}`;
  }
  const rest = columns.filter((name) => !key.includes(name));
  const [stored, sent] = [tuple('t', rest), tuple('excluded', rest)];
  const update = sql`${target} do update set ${assignments(rest, replace)}, ${changed}
    where ${stored} is distinct from ${sent}`;
  if (conflict.kind === 'replace') return update;
  const by = sql.identifier(conflict.by);
  return sql`${update} and excluded.${by} >= t.${by}`;
}

/** Replaces rows, but keeps values that a copy may lack: only one side of a message knows its sender. */
export function onConflictOverwrite(facts: TableFacts, columns: readonly string[], began: SQL): SQL {
  const { conflict, key } = facts;
  const rest = columns.filter((name) => !key.includes(name));
  if (rest.length === 0 || !['keep', 'fill'].includes(conflict.kind))
    return onConflict(facts, columns, began);
  const overwrite = (name: string) => (mayLack(facts, name) ? preferSent(name) : replace(name));
  return sql`on conflict (${identifiers(key)}) do update set ${assignments(rest, overwrite)}, ${changedAt(began)}
    where ${tuple('t', rest)} is distinct from (${sql.join(rest.map(overwrite), sql`, `)})`;
}

function assignments(columns: readonly string[], value: (name: string) => SQL): SQL {
  return sql.join(
    columns.map((name) => sql`${sql.identifier(name)} = ${value(name)}`),
    sql`, `,
  );
}

const fill = (name: string) => sql`coalesce(t.${sql.identifier(name)}, excluded.${sql.identifier(name)})`;

const preferSent = (name: string) =>
  sql`coalesce(excluded.${sql.identifier(name)}, t.${sql.identifier(name)})`;

const replace = (name: string) => sql`excluded.${sql.identifier(name)}`;

export function tuple(alias: string, columns: readonly string[]): SQL {
  const names = columns.map((name) => sql`${sql.identifier(alias)}.${sql.identifier(name)}`);
  return sql`(${sql.join(names, sql`, `)})`;
}

/** The text of a row's key, which all copies of the row have in common. */
function keyOfRow({ key }: Pick<TableFacts, 'key'>, row: DistinctRow): string {
  return key.map((column) => String(row[column])).join('|');
}

export type DistinctRow = Readonly<Record<string, unknown>>;

/** Rows by the text of their key. Of equal keys the first stays, with `fill` columns from later ones. */
export function distinctRows(facts: TableFacts, rows: readonly object[]): Map<string, DistinctRow> {
  const byKey = new Map<string, DistinctRow>();
  for (const row of rows.filter(isRow)) {
    const key = keyOfRow(facts, row);
    const first = byKey.get(key);
    byKey.set(key, first === undefined ? row : mergeRows(facts, first, row));
  }
  return byKey;
}

function isRow(row: object): row is DistinctRow {
  return !Array.isArray(row);
}

/** Merges two rows with the same key, of which `first` came first. */
export function mergeRows({ conflict }: TableFacts, first: DistinctRow, later: DistinctRow): DistinctRow {
  if (conflict.kind === 'keep' || conflict.kind === 'version') return first;
  if (conflict.kind === 'replace') return later;
  if (conflict.kind === 'newer') return compare(later[conflict.by], first[conflict.by]) >= 0 ? later : first;
  const filled = conflict.columns.filter((column) => isAbsent(first[column]) && !isAbsent(later[column]));
  return filled.length === 0
    ? first
    : { ...first, ...Object.fromEntries(filled.map((column) => [column, later[column]])) };
}

function isAbsent(value: unknown): boolean {
  return value === null || value === undefined;
}

/** Digit strings by their number, times by their text. */
function compare(a: unknown, b: unknown): number {
  const [x, y] = [String(a), String(b)];
  return x.length - y.length || (x < y ? -1 : x > y ? 1 : 0);
}

/**
 * Seconds in which copies of one row contradict each other: both have a value in a column, and the values differ. If a
 * source returns both, neither confirms the other.
 */
export function contradictions(facts: Pick<TableFacts, 'key'>, rows: readonly object[]): Range[] {
  const copies = new Map<string, DistinctRow>();
  const seconds = new Set<number>();
  for (const row of rows.filter(isRow)) {
    const name = keyOfRow(facts, row);
    const before = copies.get(name);
    if (before === undefined) copies.set(name, row);
    else if (contradict(before, row)) seconds.add(secondOfTime(String(row['utime'])));
  }
  return union([...seconds].map(spanOfSecond));
}

function contradict(one: DistinctRow, other: DistinctRow): boolean {
  return Object.entries(one).some(([column, value]) => {
    const theirs = other[column] ?? null;
    return value != null && theirs !== null && !isDeepStrictEqual(value, theirs);
  });
}
