import type { ClientBase } from 'pg';
import * as z from 'zod';

/**
 * What statements of this program mean, whatever a role, a database or a connection string makes the default. All objects
 * of its own are named with their schema, so nothing that other roles create in `public` or in a schema of theirs is
 * called in place of Postgres' own functions, operators and types (CVE-2018-1058).
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
  // With many partitions compiling a query takes far longer than running it.
  jit: 'off',
};

/**
 * Begins every transaction of this program; a statement of its own is a transaction, too. Said once a transaction, not
 * once a session and not at its start: behind PgBouncer in transaction mode neither would hold.
 */
export const PINNED = Object.entries(SETTINGS)
  .map(([name, value]) => `set local ${name} = ${value}`)
  .join('; ');

/** What the driver gives for a text of several statements, though its types do not say so. */
const Results = z.array(z.object({ rows: z.array(z.unknown()) }));

/** Runs statements without parameters, after those that begin a transaction; the first row of the last one. */
export async function lastRow(client: Pick<ClientBase, 'query'>, text: string): Promise<unknown> {
  const given: unknown = await client.query(text);
  return Results.parse(given).at(-1)?.rows[0];
}
