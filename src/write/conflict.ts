import { isDeepStrictEqual } from 'node:util';
import { sql, type SQL } from 'drizzle-orm';
import { secondOfTime, spanOfSecond, union, type Range } from '../range.ts';
import { identifiers } from '../postgres/sql.ts';
import type { TableFacts } from '../tables/describe.ts';

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
    const said = other[column] ?? null;
    return value != null && said !== null && !isDeepStrictEqual(value, said);
  });
}
