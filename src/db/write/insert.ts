import { getTableColumns, is, sql, type SQL } from 'drizzle-orm';
import { getTableConfig, PgTable, type PgColumn } from 'drizzle-orm/pg-core';
import { z } from 'zod';
import type { Range } from '../../range.ts';
import type { Session } from '../connection/database.ts';
import { leaveReceipt, receiptColumns } from './receipts.ts';
import { factsOf, type TableFacts } from '../schema/describe.ts';
import { identifiers } from '../connection/sql.ts';
import { fillStage, stageOf, type Stage } from './staging-table.ts';
import { clearOthers, isCurrent, makeWay } from './supersede.ts';

type Row = Readonly<Record<string, unknown>>;

/** What a statement needs to know of a table, worked out once. */
export interface Target {
  readonly name: string;
  readonly columns: readonly string[];
  readonly facts: TableFacts;
  readonly into: SQL;
  readonly stage: Stage;
  readonly onConflict: SQL;
  /** Instead of `onConflict` where what the source says now counts more than what is stored. */
  readonly onConflictMend: SQL;
}

const Written = z.object({ rows: z.coerce.number() });

const targets = new WeakMap<object, Target>();

interface InsertOptions {
  /** Values of stored rows that cannot change are replaced too: something is wrong with those stored. */
  readonly mend?: boolean;
  /** The rows are all that there is of these seconds: stored ones that are not among them are deleted. */
  readonly instead?: Range | undefined;
}

/**
 * Brings rows of several tables to the server, whatever their number, each into its temporary table (`stage.ts`). Before
 * anything is locked: a process that freezes while it sends is in no statement that Postgres would end, and would hold
 * what it had locked for as long as it stands. They are sorted by key, so that two transactions with common rows wait
 * for each other instead of deadlocking; of rows with the same key the first counts, its gaps filled from the others.
 * @returns the tables that `insertStaged` has to write
 */
export async function stageRows(
  session: Session,
  byTable: readonly (readonly [table: object, rows: readonly object[]])[],
  { instead }: InsertOptions = {},
): Promise<Target[]> {
  const staged: Target[] = [];
  for (const [table, rows] of byTable) {
    if (rows.length === 0 && instead === undefined) continue;
    const target = targetOf(table);
    await fillStage(session, target.stage, distinct(target.facts, rows));
    staged.push(target);
  }
  return staged;
}

/**
 * Writes what `stageRows` brought in the same transaction, table by table. Rows that are new to a stream table leave a
 * receipt.
 * @returns the number of rows that were new or changed
 */
export async function insertStaged(
  session: Session,
  staged: readonly Target[],
  options: InsertOptions = {},
): Promise<number> {
  let rows = 0;
  for (const target of staged) rows += await insertFrom(session, target, options);
  return rows;
}

async function insertFrom(
  session: Session,
  target: Target,
  { mend = false, instead }: InsertOptions,
): Promise<number> {
  const names = identifiers(target.columns);
  await makeWay(session, target);
  if (instead !== undefined) await clearOthers(session, target, instead);
  const insert = sql`
    insert into ${target.into} as t (${names})
    select ${names} from ${target.stage.name} n
    where ${isCurrent(target)}
    ${mend ? target.onConflictMend : target.onConflict}`;
  if (!target.facts.partitioned) return session.run(insert);
  const [written] = await session.rows(
    sql`
      with written as (${insert} returning ${receiptColumns(target, sql`t`)}, t.loaded_at = now() as is_new),
        fresh as (select * from written where is_new),
        receipt as (${leaveReceipt(target, sql`fresh`, 'added')})
      select count(*) as rows from written`,
    Written,
  );
  return written?.rows ?? 0;
}

/** Rows sorted by the text of their key; of equal keys the first, with its `fill` columns filled from later ones. */
function distinct(facts: TableFacts, rows: readonly object[]): Row[] {
  const byKey = new Map<string, Row>();
  for (const row of rows.filter(isRow)) {
    const key = facts.key.map((column) => String(row[column])).join('|');
    const first = byKey.get(key);
    byKey.set(key, first === undefined ? row : merge(facts, first, row));
  }
  return [...byKey].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row);
}

function isRow(row: object): row is Row {
  return !Array.isArray(row);
}

function merge({ conflict }: TableFacts, first: Row, later: Row): Row {
  if (conflict.kind === 'keep') return first;
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

/** Throws a TypeError for anything but a described Drizzle table. */
export function targetOf(table: object): Target {
  const known = targets.get(table);
  if (known !== undefined) return known;
  if (!is(table, PgTable)) throw new TypeError('not a Drizzle table');
  const { name, schema } = getTableConfig(table);
  const into = sql`${sql.identifier(schema ?? 'public')}.${sql.identifier(name)}`;
  const facts = factsOf(table);
  const written = Object.values(getTableColumns(table)).filter(isWritten);
  const columns = written.map((column) => column.name);
  const target = {
    name,
    columns,
    facts,
    into,
    stage: stageOf({ name, into, columns: written }),
    onConflict: onConflict(facts, columns),
    onConflictMend: onConflictMend(facts, columns),
  };
  targets.set(table, target);
  return target;
}

/** Generated columns cannot be written; those with a default would become null, for rows lack them. */
function isWritten(column: PgColumn): boolean {
  return column.generated === undefined && column.generatedIdentity === undefined && !column.hasDefault;
}

/**
 * When a stored row was changed: later than the start of the transaction, which is what a new row gets. So `loaded_at =
 * now()` tells a row that was inserted from one that was updated (partitioned tables do not return `xmax`).
 */
const CHANGED = sql`loaded_at = greatest(clock_timestamp(), now() + interval '1 microsecond')`;

function onConflict({ conflict, key }: TableFacts, columns: readonly string[]): SQL {
  const target = sql`on conflict (${identifiers(key)})`;
  if (conflict.kind === 'keep') return sql`${target} do nothing`;
  if (conflict.kind === 'fill') {
    const gaps = conflict.columns.map(
      (name) => sql`t.${sql.identifier(name)} is null and excluded.${sql.identifier(name)} is not null`,
    );
    return sql`${target} do update set ${assignments(conflict.columns, fill)}, ${CHANGED} where ${sql.join(gaps, sql` or `)}`;
  }
  const rest = columns.filter((name) => !key.includes(name));
  const [stored, sent] = [tuple('t', rest), tuple('excluded', rest)];
  const changed = sql`${target} do update set ${assignments(rest, replace)}, ${CHANGED}
    where ${stored} is distinct from ${sent}`;
  if (conflict.kind === 'replace') return changed;
  const by = sql.identifier(conflict.by);
  return sql`${changed} and excluded.${by} >= t.${by}`;
}

/** As rows that are replaced, but a null never overwrites a value: only one side of a message knows its sender. */
function onConflictMend(facts: TableFacts, columns: readonly string[]): SQL {
  const { conflict, key } = facts;
  const rest = columns.filter((name) => !key.includes(name));
  if (rest.length === 0 || conflict.kind === 'newer' || conflict.kind === 'replace')
    return onConflict(facts, columns);
  const mended = sql.join(rest.map(mend), sql`, `);
  return sql`on conflict (${identifiers(key)}) do update set ${assignments(rest, mend)}, ${CHANGED}
    where ${tuple('t', rest)} is distinct from (${mended})`;
}

function assignments(columns: readonly string[], value: (name: string) => SQL): SQL {
  return sql.join(
    columns.map((name) => sql`${sql.identifier(name)} = ${value(name)}`),
    sql`, `,
  );
}

const fill = (name: string) => sql`coalesce(t.${sql.identifier(name)}, excluded.${sql.identifier(name)})`;
const mend = (name: string) => sql`coalesce(excluded.${sql.identifier(name)}, t.${sql.identifier(name)})`;
const replace = (name: string) => sql`excluded.${sql.identifier(name)}`;

function tuple(alias: string, columns: readonly string[]): SQL {
  const names = columns.map((name) => sql`${sql.identifier(alias)}.${sql.identifier(name)}`);
  return sql`(${sql.join(names, sql`, `)})`;
}
