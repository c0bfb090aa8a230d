import { getTableColumns } from 'drizzle-orm';
import type { PgTable } from 'drizzle-orm/pg-core';

/** A row as `select c::text, …` prints it: every column as text, so that no digit passes through a number. */
export type TextRow = Readonly<Record<string, string | null | undefined>>;

/** The select list that fetches a table's rows as text rows. */
export function textColumns(table: PgTable): string {
  return Object.keys(getTableColumns(table))
    .map((name) => `"${name}"::text as "${name}"`)
    .join(', ');
}

/** A job's row as Postgres would print it, without Postgres: the row goes through JSON as it does there. */
export function asTextRow(table: PgTable, row: object): TextRow {
  const columns = getTableColumns(table);
  const sent = JSON.parse(JSON.stringify(row)) as Record<string, unknown>;
  return Object.fromEntries(
    Object.entries(columns).map(([name, column]) => [
      name,
      printed(sent[name], column.getSQLType() === 'jsonb'),
    ]),
  );
}

function printed(value: unknown, isJson: boolean): string | null {
  if (value === undefined || value === null) return null;
  if (isJson) return JSON.stringify(value);
  if (typeof value === 'string') return value;
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  throw new TypeError(`a column that is not jsonb holds ${JSON.stringify(value)}`);
}
