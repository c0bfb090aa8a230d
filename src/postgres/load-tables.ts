import { is } from 'drizzle-orm';
import { getTableConfig, PgTable } from 'drizzle-orm/pg-core';
import { folder } from './tables-folder.ts';

/** Every table that a file below `src/tables/` exports, by name. */
export async function loadTables(): Promise<PgTable[]> {
  const modules = [...(await folder.load()).values()];
  const tables = modules
    .flatMap((module): unknown[] => Object.values(module))
    .filter((value) => is(value, PgTable));
  return tables.sort((a, b) => (getTableConfig(a).name < getTableConfig(b).name ? -1 : 1));
}
