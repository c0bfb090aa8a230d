import type { ClientBase } from 'pg';
import * as z from 'zod';

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
