import { desc, getTableColumns, sql, type SQL, type SQLWrapper } from 'drizzle-orm';
import type { PgTable } from 'drizzle-orm/pg-core';
import * as z from 'zod';
import type { Session } from '../postgres/database.ts';
import { list } from '../postgres/sql.ts';
import { budget, workers } from '../tables/etl/budget.ts';
import { coverage, leases, refused, wanted } from '../tables/etl/coverage.ts';
import { failures, pages, partitions, settings } from '../tables/etl/pages.ts';
import { quarantine, schemaDrift } from '../tables/etl/quarantine.ts';

const Row = z.object({ row: z.record(z.string(), z.unknown()) });

const { raw, ...others } = getTableColumns(quarantine);
const WITHOUT_RAW = Object.values(others);
const KIND = [quarantine.dataset, quarantine.path, quarantine.reason];

/**
 * Rows of the program's own tables that show what it has done. No data of the chain, except a few records
 * that did not fit.
 */
const SECTIONS: Readonly<Record<string, SQL>> = {
  migrations: sql`select * from etl.migrations order by created_at`,
  settings: rowsOf(settings, [settings.name]),
  coverage: rowsOf(coverage, [coverage.dataset, coverage.scope, coverage.pass], 200),
  wanted: rowsOf(wanted, [wanted.dataset]),
  leases: rowsOf(leases, [leases.id], 100),
  refused: rowsOf(refused, [refused.dataset, refused.scope, refused.span], 200),
  failures: rowsOf(failures, [failures.dataset], 100),
  schema_drift: rowsOf(schemaDrift, [schemaDrift.dataset, schemaDrift.path], 500),
  quarantine: sql`
    select distinct on (${list(KIND)}) ${list(WITHOUT_RAW)}, left(${raw}, 20000) as raw
    from ${quarantine} order by ${list(KIND)}, ${quarantine.id} limit 20`,
  pages: rowsOf(pages, [desc(pages.id)], 100),
  budget: rowsOf(budget, [budget.host]),
  workers: rowsOf(workers, [workers.worker]),
  partitions: rowsOf(partitions, [partitions.parent, partitions.span], 500),
  sizes: sql`
    select n.nspname as schema, c.relname as name, pg_total_relation_size(c.oid) as bytes, c.reltuples::int8 as rows
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname in ('ton', 'etl', 'etl_partitions') and c.relkind = 'r' order by 3 desc limit 200`,
  server: sql`
    select name, setting, unit from pg_settings where name in ('server_version', 'max_connections', 'shared_buffers',
      'work_mem', 'fsync', 'synchronous_commit', 'wal_level', 'max_wal_size', 'jit', 'TimeZone',
      'default_transaction_isolation', 'max_locks_per_transaction') order by name`,
};

function rowsOf(table: PgTable, order: readonly SQLWrapper[], limit?: number): SQL {
  return sql`select * from ${table} order by ${list(order)} limit ${limit ?? null}`;
}

/** The database's part of a bug report. If a section cannot be read, it contains the reason. */
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
