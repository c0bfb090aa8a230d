import { rowOf, type Given, type Put, type RowLayout, type Table } from './declaration/row-layout.ts';
import type { Extra } from './declaration/record.ts';

export type Tables = Readonly<Record<string, Table>>;

/** The rows of one record, by table. */
export type RowsOf<T extends Tables> = { readonly [Name in keyof T]?: readonly T[Name]['$inferInsert'][] };

/** Rows by table name, as they are written. */
export type Rows = Readonly<Record<string, readonly object[] | undefined>>;

/** Collects rows as objects, by the names of their tables. */
export function collectRows(tables: Tables, visit: (put: Put) => void): Rows {
  const names = new Map<Table, string>(Object.entries(tables).map(([name, table]) => [table, name]));
  const rows: Record<string, object[]> = Object.fromEntries(Object.keys(tables).map((name) => [name, []]));
  visit(
    <T extends Table, Rec>(layout: RowLayout<T, Rec>, record: Rec, given: Given<T>, extra?: Extra | null) => {
      const name = names.get(layout.table);
      if (name === undefined) throw new TypeError('a row for a table that its job does not name');
      rows[name]?.push(rowOf(layout, record, given, extra));
    },
  );
  return rows;
}
