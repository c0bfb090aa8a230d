import { sql, type SQL } from 'drizzle-orm';
import type { PgColumn } from 'drizzle-orm/pg-core';

/** The columns that identify a stream within a statement; plain values become parameters. */
export interface StreamColumns {
  readonly dataset: string | SQL;
  readonly scope: string | SQL;
  readonly pass: number | SQL;
}

/** True of the rows of a table that belong to a stream. */
export function ofStream(
  table: { readonly dataset: PgColumn; readonly scope: PgColumn; readonly pass: PgColumn },
  { dataset, scope, pass }: StreamColumns,
): SQL {
  return sql`${table.dataset} = ${dataset} and ${table.scope} = ${scope} and ${table.pass} = ${pass}`;
}
