import { getTableColumns, is } from 'drizzle-orm';
import { getTableConfig, PgTable } from 'drizzle-orm/pg-core';
import { factsOf } from '../tables/describe.ts';

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
export function describeTable(table: object): TableDescription {
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
