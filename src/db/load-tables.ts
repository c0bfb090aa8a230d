import { readdir, readFile } from 'node:fs/promises';
import { is } from 'drizzle-orm';
import { getTableConfig, PgTable } from 'drizzle-orm/pg-core';

const FOLDER = new URL('../db/schema/', import.meta.url);

/** Every table that a file below `schema/` exports, by name. There is no list to extend. */
export async function loadTables(): Promise<PgTable[]> {
  const modules = await Promise.all((await filesOfSchema()).map(importModule));
  const tables = modules
    .flatMap((module): unknown[] => Object.values(module))
    .filter((value) => is(value, PgTable));
  return tables.sort((a, b) => (getTableConfig(a).name < getTableConfig(b).name ? -1 : 1));
}

/** What tells one state of the schema's files from another: far cheaper than loading them. */
export async function readSchema(): Promise<string[]> {
  return Promise.all((await filesOfSchema()).map((file) => readFile(file, 'utf8')));
}

async function filesOfSchema(): Promise<URL[]> {
  const files = (await readdir(FOLDER, { recursive: true })).filter((file) => /\.[jt]s$/.test(file)).sort();
  return files.map((file) => new URL(file, FOLDER));
}

async function importModule(url: URL): Promise<object> {
  const module: unknown = await import(url.href);
  return typeof module === 'object' && module !== null ? module : {};
}
