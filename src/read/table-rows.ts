import { sql, getTableColumns, is } from 'drizzle-orm';
import * as z from 'zod';
import { getTableConfig, PgTable } from 'drizzle-orm/pg-core';
import type { Range, Stretch } from '../range.ts';
import { type Database, type Session, oneRow } from '../postgres/database.ts';
import { during, identifiers } from '../postgres/sql.ts';
import { factsOf } from '../tables/describe.ts';
import { keyHash, otherThanSealed, secondOfRow } from '../write/seals.ts';
import { targetOf } from '../write/target.ts';
import type { Table } from '../dataset/declaration/record.ts';

/** Rows of a table: those of a range of block time, or all rows of a table without partitions. */
export interface TableRows {
  /** The Drizzle table. */
  readonly table: Table;
  readonly span: Range | undefined;
}

/** A fingerprint of rows: it differs if rows were added, changed or deleted. */
export interface RowsState {
  readonly rows: number;
  /** The sum of the hashes of their keys, as in seals; null if the table has none. */
  readonly keys: string | null;
  /** The newest `loaded_at`, as Postgres prints it in UTC; null if there are no rows. */
  readonly changedAt: string | null;
  /**
   * The sum of the times at which the rows were written. If a commit began before the newest one and ends
   * after it, the newest time stays the same, but the sum changes. Null if it was not stored.
   */
  readonly loaded: string | null;
}

const STATE = ['rows', 'keys', 'changedAt', 'loaded'] as const;

/** True if the rows have not changed. */
export function isSameState(a: RowsState, b: RowsState): boolean {
  return STATE.every((fact) => a[fact] === b[fact]);
}

const State = z.object({
  rows: z.coerce.number(),
  keys: z.string().nullable(),
  changedAt: z.string().nullable(),
  loaded: z.string().nullable(),
});

/** Exact to the microsecond, and cheaper than `extract`. */
const LOADED = sql`coalesce(sum((date_part('epoch', loaded_at) * 1000000)::int8), 0)::text`;

/** Runs `work` so that all its statements see the rows, the coverage and the grades of one point in time. */
export function atOneMoment<T>(database: Database, work: (session: Session) => Promise<T>): Promise<T> {
  return database.transaction(work, { isSnapshot: true });
}

export async function stateOf(session: Session, rows: TableRows): Promise<RowsState> {
  const target = targetOf(rows.table);
  const keys = factsOf(rows.table).partitioned
    ? sql`coalesce(sum(${keyHash(target, sql`t`)}), 0)::text`
    : sql`null`;
  return oneRow(
    session,
    sql`select count(*) as rows, (max(loaded_at) at time zone 'UTC')::text as "changedAt", ${LOADED} as loaded, ${keys} as keys
        ${from(rows)}`,
    State,
  );
}

/** The number of rows that a table has in a stretch. */
export async function countRows(session: Session, table: Table, stretch: Stretch): Promise<number> {
  const counted = await countByMinute(session, table, stretch);
  return counted.reduce((sum, [, rows]) => sum + rows, 0);
}

/** The number of rows that a table has in each minute of a stretch, by the first second of the minute, in order. */
export async function countByMinute(
  session: Session,
  table: Table,
  stretch: Stretch,
): Promise<[start: number, rows: number][]> {
  const counted = await session.rows(
    sql`select ${secondOfRow(sql`t`)} / 60 * 60 as start, count(*) as rows from ${targetOf(table).into} t
        where ${during('t', stretch)} group by 1 order by 1`,
    z.object({ start: z.coerce.number(), rows: z.coerce.number() }),
  );
  return counted.map(({ start, rows }) => [start, rows]);
}

/** The number of sealed seconds in which a table's rows differ from its seal. */
export function countBrokenSeals(session: Session, table: Table, span: Range): Promise<number> {
  return session.run(otherThanSealed(targetOf(table), span));
}

/** CSV (RFC 4180) with a header, null as empty and the empty string in quotes; or the text format of COPY. */
export type CopyFormat = 'csv' | 'text';

/** Passes rows on in the order of the key: times in UTC, values as Postgres prints them. Within a transaction. */
export async function copyRows(
  session: Session,
  rows: TableRows,
  { format, onData }: { readonly format: CopyFormat; readonly onData: (data: Buffer) => void },
): Promise<void> {
  const { key, columns } = describeTable(rows.table);
  const names = identifiers(columns.map(({ name }) => name));
  await session.run(
    sql`select set_config('TimeZone', 'UTC', true), set_config('DateStyle', 'ISO', true), set_config('extra_float_digits', '1', true)`,
  );
  await session.copyOut(
    sql`copy (select ${names} ${from(rows)} order by ${identifiers(key)}) to stdout ${sql.raw(format === 'csv' ? '(format csv, header)' : '')}`,
    onData,
  );
}

function from({ table, span }: TableRows) {
  const { into } = targetOf(table);
  if (span === undefined) return sql`from ${into} t`;
  // COPY takes no parameters.
  const [first, end] = [sql.raw(String(span.from)), sql.raw(String(span.to))];
  return sql`from ${into} t where t.utime >= to_timestamp(${first}) and t.utime < to_timestamp(${end})`;
}

export interface ColumnDescription {
  readonly name: string;
  /** Postgres' name of the type. */
  readonly type: string;
  readonly nullable: boolean;
  readonly comment: string;
}

/** A table as the documentation describes it. */
export interface TableDescription {
  readonly schema: string;
  readonly name: string;
  readonly comment: string;
  readonly key: readonly string[];
  readonly partitioned: boolean;
  readonly columns: readonly ColumnDescription[];
}

/** Throws a TypeError for anything but a described Drizzle table. */
export function describeTable(table: Table): TableDescription {
  if (!is(table, PgTable)) throw new TypeError('not a Drizzle table');
  const { schema = 'public', name } = getTableConfig(table);
  const { comment, key, partitioned, columns } = factsOf(table);
  const described = Object.values(getTableColumns(table)).map((column) => ({
    name: column.name,
    type: column.getSQLType(),
    nullable: !column.notNull,
    comment: columns[column.name] ?? '',
  }));
  return { schema, name, comment, key, partitioned, columns: described };
}
