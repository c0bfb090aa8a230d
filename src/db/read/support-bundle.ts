import { sql, type SQL } from 'drizzle-orm';
import { z } from 'zod';
import type { Session } from '../connection/database.ts';

const Row = z.object({ row: z.record(z.string(), z.unknown()) });

/** Rows of the program's own tables that tell what it has done; no data of the chain but a few records that did not fit. */
const SECTIONS: Readonly<Record<string, SQL>> = {
  migrations: sql`select * from etl.migrations order by created_at`,
  settings: sql`select * from etl.settings order by name`,
  coverage: sql`select * from etl.coverage order by dataset, scope, pass limit 200`,
  wanted: sql`select * from etl.wanted order by dataset`,
  leases: sql`select * from etl.leases order by id limit 100`,
  refused: sql`select * from etl.refused order by dataset, scope, span limit 200`,
  failures: sql`select * from etl.failures order by dataset limit 100`,
  schema_drift: sql`select * from etl.schema_drift order by dataset, path limit 500`,
  quarantine: sql`
    select distinct on (dataset, path, reason) id, dataset, scope, record_id, utime, path, reason, request, attempts,
      first_at, last_at, left(raw, 20000) as raw from etl.quarantine order by dataset, path, reason, id limit 20`,
  pages: sql`select * from etl.pages order by id desc limit 100`,
  budget: sql`select * from etl.budget order by host`,
  workers: sql`select * from etl.workers order by worker`,
  partitions: sql`select * from etl.partitions order by parent, span limit 500`,
  sizes: sql`
    select n.nspname as schema, c.relname as name, pg_total_relation_size(c.oid) as bytes, c.reltuples::int8 as rows
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname in ('ton', 'etl', 'etl_partitions') and c.relkind = 'r' order by 3 desc limit 200`,
  server: sql`
    select name, setting, unit from pg_settings where name in ('server_version', 'max_connections', 'shared_buffers',
      'work_mem', 'fsync', 'synchronous_commit', 'wal_level', 'max_wal_size', 'jit', 'TimeZone',
      'default_transaction_isolation', 'max_locks_per_transaction') order by name`,
};

/** What of a database belongs into a bug report. A section that cannot be read holds the reason. */
export async function readBundle(session: Session): Promise<Readonly<Record<string, unknown>>> {
  const bundle: Record<string, unknown> = {};
  for (const [name, query] of Object.entries(SECTIONS)) {
    try {
      const rows = await session.rows(sql`select to_jsonb(s) as row from (${query}) s`, Row);
      bundle[name] = rows.map(({ row }) => row);
    } catch (error) {
      bundle[name] = `cannot be read: ${String(error)}`;
    }
  }
  return bundle;
}
