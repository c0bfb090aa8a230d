import { getTableColumns, sql, type SQL } from 'drizzle-orm';
import type { PgColumn, PgTable } from 'drizzle-orm/pg-core';
import { toMultirangeText, toRangeText, type Range } from '../../range.ts';

/** A range as a parameter of a statement. */
export function rangeParam(range: Range): SQL {
  return sql`${toRangeText(range)}::int8range`;
}

/** Ranges as a parameter of a statement. */
export function multirangeParam(ranges: readonly Range[]): SQL {
  return sql`${toMultirangeText(ranges)}::int8multirange`;
}

/** Names as SQL: each quoted, with commas between. */
export function identifiers(names: readonly string[]): SQL {
  return sql.join(
    names.map((name) => sql.identifier(name)),
    sql`, `,
  );
}

/** Names of columns without their table, with commas between: as lists of columns, `set` and `excluded` want them. */
export function bare(...columns: readonly PgColumn[]): SQL {
  return identifiers(columns.map(({ name }) => name));
}

/** The value of a column that an insert brings, where the row is there already. */
export function excluded(column: PgColumn): SQL {
  return sql`excluded.${bare(column)}`;
}

/** An assignment for each column: it takes what the insert brings. */
export function setExcluded(...columns: readonly PgColumn[]): SQL {
  return sql.join(
    columns.map((column) => sql`${bare(column)} = ${excluded(column)}`),
    sql`, `,
  );
}

/** A value as a parameter of type jsonb. */
export function jsonParam(value: unknown): SQL {
  return sql`${JSON.stringify(value)}::jsonb`;
}

/** Values of a row by column: plain ones become parameters. */
type RowValues<T extends PgTable> = {
  readonly [Column in keyof T['$inferInsert']]: T['$inferInsert'][Column] | SQL;
};

/** Inserts one row; a column whose value is undefined gets its default. */
export function insertInto<T extends PgTable>(table: T, values: RowValues<T>): SQL {
  const columns = new Map(Object.entries(getTableColumns(table)));
  const given = Object.entries(values).filter(([, value]) => value !== undefined);
  const names = given.flatMap(([key]) => columns.get(key)?.name ?? []);
  const list = sql.join(
    given.map(([, value]) => sql`${value}`),
    sql`, `,
  );
  return sql`insert into ${table} (${identifiers(names)}) values (${list})`;
}
