import { fillPlaceholders, getTableColumns, sql, type SQL, type SQLWrapper } from 'drizzle-orm';
import { PgDialect, type PgColumn, type PgTable } from 'drizzle-orm/pg-core';
import * as z from 'zod';
import type { ClientBase } from 'pg';
import {
  parseRangeText,
  toMultirangeText,
  toRangeText,
  type Range,
  partsOf,
  type Stretch,
} from '../range.ts';

/**
 * Settings that fix what this program's statements mean, whatever default a role, a database or a connection string
 * sets. All of its objects are named with their schema. So no object that another role creates in `public` or in its
 * own schema is called instead of Postgres' functions, operators and types (CVE-2018-1058).
 */
const SETTINGS = {
  search_path: 'pg_catalog, pg_temp',
  timezone: "'UTC'",
  datestyle: 'iso, mdy',
  intervalstyle: 'postgres',
  bytea_output: 'hex',
  extra_float_digits: '1',
  standard_conforming_strings: 'on',
  array_nulls: 'on',
  transform_null_equals: 'off',
  quote_all_identifiers: 'off',
  default_table_access_method: 'heap',
  // If there are many partitions, compiling a query takes far longer than running it.
  jit: 'off',
};

/**
 * Begins every transaction of this program, including those of a single statement. It is sent in each transaction and
 * not once a session, because behind PgBouncer in transaction mode a session's settings do not last.
 */
export const PINNED = Object.entries(SETTINGS)
  .map(([name, value]) => `set local ${name} = ${value}`)
  .join('; ');

/** The driver's result for several statements, though its types do not say so. */
const Results = z.array(z.object({ rows: z.array(z.unknown()) }));

/** Runs statements without parameters, and returns the first row of the last one. */
export async function lastRow(client: Pick<ClientBase, 'query'>, text: string): Promise<unknown> {
  const given: unknown = await client.query(text);
  return Results.parse(given).at(-1)?.rows[0];
}

const dialect = new PgDialect();

/** The text of a statement without parameters. */
export function textOf(statement: SQL): string {
  return dialect.sqlToQuery(statement).sql;
}

/**
 * A statement whose text is built once, because building it for many columns takes longer than sending it.
 * `sql.placeholder` marks the values that change.
 */
export function statementTemplate(statement: SQL): (values: Readonly<Record<string, unknown>>) => SQL {
  const { sql: text, params } = dialect.sqlToQuery(statement);
  const [first = '', ...rest] = text.split(/\$\d+/);
  return (values) => {
    const given = fillPlaceholders(params, values);
    return rest.reduce(
      (query, piece, index) => query.append(sql`${given[index]}${rendered(piece)}`),
      sql`${rendered(first)}`,
    );
  };
}

/** The same for a statement without parameters. */
export function prerendered(statement: SQL): SQL {
  return rendered(textOf(statement));
}

/** Text that Drizzle built from a statement. It contains no values. */
function rendered(text: string): SQL {
  return sql.raw(text);
}

/** A range as a parameter of a statement. */
export function rangeParam(range: Range): SQL {
  return sql`${toRangeText(range)}::int8range`;
}

/** Ranges as a parameter of a statement. */
export function multirangeParam(ranges: readonly Range[]): SQL {
  return sql`${toMultirangeText(ranges)}::int8multirange`;
}

/** Parses the text of a range column. */
export const spanOfRow = z.string().transform((text) => parseRangeText(text)[0] ?? { from: 0, to: 0 });

/** Parses the text of a multirange column, oldest first. */
export const spansOfRow = z.string().transform(parseRangeText);

/** Expressions, separated by commas. */
export function list(expressions: readonly SQLWrapper[]): SQL {
  return sql.join([...expressions], sql`, `);
}

/** Quoted names, separated by commas. */
export function identifiers(names: readonly string[]): SQL {
  return list(names.map((name) => sql`${sql.identifier(name)}`));
}

/** Column names without their table, separated by commas, as column lists, `set` and `excluded` need them. */
export function bare(...columns: readonly PgColumn[]): SQL {
  return identifiers(columns.map(({ name }) => name));
}

/** The value that an insert has for a column, if the row exists already. */
export function excluded(column: PgColumn): SQL {
  return sql`excluded.${bare(column)}`;
}

/** Assigns to each column the value of the insert. */
export function setExcluded(...columns: readonly PgColumn[]): SQL {
  return list(columns.map((column) => sql`${bare(column)} = ${excluded(column)}`));
}

/** A subquery of texts as one parameter, for `in (…)`. */
export function texts(values: readonly string[]): SQL {
  return sql`select json_array_elements_text(${JSON.stringify(values)}::json)`;
}

/** A value as a parameter of type jsonb. */
export function jsonParam(value: unknown): SQL {
  return sql`${JSON.stringify(value)}::jsonb`;
}

/** Values of a row by column. Plain values become parameters. */
type RowValues<T extends PgTable> = {
  readonly [Column in keyof T['$inferInsert']]: T['$inferInsert'][Column] | SQL;
};

/** Inserts one row. A column without a value gets its default. */
export function insertInto<T extends PgTable>(table: T, values: RowValues<T>): SQL {
  const byColumn = new Map<string, unknown>(Object.entries(values));
  const given = Object.entries(getTableColumns(table)).filter(([key]) => byColumn.get(key) !== undefined);
  const row = list(given.map(([key]) => sql`${byColumn.get(key)}`));
  return sql`insert into ${table} (${bare(...given.map(([, column]) => column))}) values (${row})`;
}

/**
 * Waits for the answers to statements that were sent to one transaction without waiting for each other. The server
 * runs them in the order in which they were sent. If one fails, the others are still waited for, so that none runs
 * after its transaction has ended.
 * @throws the error of the first statement that failed, in the given order
 */
export async function answersOf<T extends readonly Promise<unknown>[]>(
  sent: readonly [...T],
): Promise<{ -readonly [At in keyof T]: Awaited<T[At]> }> {
  await Promise.allSettled(sent);
  for (const answer of sent) await answer;
  return Promise.all(sent);
}

/** A condition on `utime` of a table alias: within the stretch. */
export function during(alias: string, stretch: Stretch): SQL {
  const column = sql`${sql.identifier(alias)}.utime`;
  const within = sql`${column} >= to_timestamp(${stretch.from}::float8) and ${column} < to_timestamp(${stretch.to}::float8)`;
  const parts = partsOf(stretch);
  if (parts.length < 2) return within;
  return sql`${within} and ${multirangeParam(parts)} @> extract(epoch from ${column})::int8`;
}

/** The number of the stretch's part that contains a row. */
export function partOf(alias: string, stretch: Stretch): SQL {
  const parts = partsOf(stretch);
  if (parts.length < 2) return sql`1`;
  const starts = sql.param(parts.map(({ from }) => from));
  return sql`width_bucket(extract(epoch from ${sql.identifier(alias)}.utime)::int8, ${starts}::int8[])`;
}

/** The second of a row as a range. */
export function secondOf(alias: string): SQL {
  return secondAt(sql`${sql.identifier(alias)}.utime`);
}

/** A time, rounded down to its second, as a range. */
export function secondAt(time: SQL): SQL {
  return sql`int8range(extract(epoch from ${time})::int8, extract(epoch from ${time})::int8 + 1)`;
}
