import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { getTableColumns, is, sql, type SQL } from 'drizzle-orm';
import { getTableConfig, PgTable, type PgColumn } from 'drizzle-orm/pg-core';
import { LOCKS } from '../locks.ts';
import { lockOf, type LockMode, type Session } from '../postgres/database.ts';
import { identifiers, texts, prerendered } from '../postgres/sql.ts';
import { endStrayCopies } from '../ledger/leases.ts';
import { factsOf, type TableFacts } from '../tables/describe.ts';
import type { CopyColumn } from './copy-buffer.ts';
import { secondOfTime, spanOfSecond, union, type Range } from '../range.ts';

/** Facts about a table for statements, computed once. */
export interface Target {
  readonly table: object;
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
export function targetOf(table: object): Target {
  const known = targets.get(table);
  if (known !== undefined) return known;
  if (!is(table, PgTable)) throw new TypeError('not a Drizzle table');
  const { name } = getTableConfig(table);
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

/** Rows sorted by the text of their key. Of equal keys the first stays, with `fill` columns from later ones. */
export function distinctRows(facts: TableFacts, rows: readonly object[]): DistinctRow[] {
  const byKey = new Map<string, DistinctRow>();
  for (const row of rows.filter(isRow)) {
    const key = keyOfRow(facts, row);
    const first = byKey.get(key);
    byKey.set(key, first === undefined ? row : mergeRows(facts, first, row));
  }
  return [...byKey].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row);
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
