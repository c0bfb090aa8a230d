import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { drizzle } from 'drizzle-orm/node-postgres';
import { migrate } from 'drizzle-orm/node-postgres/migrator';
import pg from 'pg';
import { packageRoot } from '../../src/package.ts';

/** Everything that a database of an older version held. */
export interface Version {
  /** How many migrations it had. */
  readonly migrations: number;
  /** Where its network began, and how it was made: what a simulator needs to serve it again. */
  readonly network: {
    readonly start: number;
    readonly duration: number;
    readonly load: number;
    readonly accounts: number;
  };
  readonly range: { readonly from: number; readonly to: number };
  readonly datasets: readonly string[];
  /** Rows by table (`ton.blocks`), each as JSON text. */
  readonly rows: Readonly<Record<string, readonly string[]>>;
}

const FILE = join(packageRoot, 'test', 'upgrade', 'fixture', 'version.json.gz');

export async function readVersion(): Promise<Version> {
  return JSON.parse(gunzipSync(await readFile(FILE)).toString()) as Version;
}

export async function writeVersion(version: Version): Promise<void> {
  await mkdir(join(FILE, '..'), { recursive: true });
  await writeFile(FILE, gzipSync(JSON.stringify(version), { level: 9 }));
}

/** Makes an empty database the way that version would have left it. */
export async function restore(url: string, version: Version): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await applyMigrations(client, version.migrations);
    for (const text of version.rows['etl.partitions'] ?? []) await attachPartition(client, text);
    for (const [table, rows] of Object.entries(version.rows)) await fill(client, table, rows);
  } finally {
    await client.end();
  }
}

/** The first migrations, without the functions and views that are applied after all of them. */
export async function applyMigrations(client: pg.Client, count: number): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'toncenter-etl-migrations-'));
  try {
    await cp(join(packageRoot, 'migrations'), folder, { recursive: true });
    const path = join(folder, 'meta', '_journal.json');
    const journal = JSON.parse(await readFile(path, 'utf8')) as { entries: unknown[] };
    await writeFile(path, JSON.stringify({ ...journal, entries: journal.entries.slice(0, count) }));
    await migrate(drizzle(client), {
      migrationsFolder: folder,
      migrationsSchema: 'etl',
      migrationsTable: 'migrations',
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function attachPartition(client: pg.Client, text: string): Promise<void> {
  const { name, parent, span } = JSON.parse(text) as { name: string; parent: string; span: string };
  const [from, to] = span.slice(1, -1).split(',');
  await client.query(
    `create table etl_partitions.${name} partition of ton.${parent}
     for values from (to_timestamp(${from ?? ''})) to (to_timestamp(${to ?? ''}))`,
  );
}

async function fill(client: pg.Client, table: string, rows: readonly string[]): Promise<void> {
  const { rows: columns } = await client.query<{ name: string }>(
    `select quote_ident(attname) as name from pg_attribute
     where attrelid = $1::regclass and attnum > 0 and not attisdropped and attgenerated = ''`,
    [table],
  );
  const names = columns.map(({ name }) => name).join();
  await client.query(
    `insert into ${table} (${names}) overriding system value
     select ${names} from json_populate_recordset(null::${table}, $1)`,
    [`[${rows.join()}]`],
  );
}

/** All rows of the tables that hold data and coverage, as JSON text in an order of their own. */
export async function readAll(
  client: pg.Client,
  tables: readonly string[],
): Promise<Record<string, string[]>> {
  const found: Record<string, string[]> = {};
  for (const table of tables) {
    const { rows } = await client.query<{ text: string }>(
      `select to_json(t)::text as text from ${table} t order by to_json(t)::text collate "C"`,
    );
    found[table] = rows.map(({ text }) => text);
  }
  return found;
}
