import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { openDatabase, type Database } from '../../src/postgres/database.ts';
import { openEmbedded } from '../../src/embedded/embedded.ts';
import { migrate } from '../../src/migrate/migrate.ts';
import { createPartitions } from '../../src/write/target.ts';
import { messages, transactions } from '../../src/tables/ton/transactions.ts';
import { formatTime, type Range } from '../../src/range.ts';

/** The tables that are measured. */
export const TABLES = [transactions, messages] as const;
export const TABLE_NAMES = ['ton.transactions', 'ton.messages'] as const;

/** A database with the program's schema and monthly partitions, and a plain connection to it. */
export interface BenchStore {
  readonly url: string;
  readonly database: Database;
  readonly client: pg.Client;
  /** One more connection, which the caller ends. */
  connect(): Promise<pg.Client>;
  close(): Promise<void>;
}

export interface BenchServer {
  /** An empty database, with partitions for `span`. */
  create(name: string, span?: Range): Promise<BenchStore>;
  /** The URL of an empty database, without the schema. */
  createEmpty(name: string): Promise<string>;
  /** Removes a database that is not used any more, by its URL, and writes all that is left to be written. */
  remove(url: string): Promise<void>;
  /** The CPU cost of all its processes so far; 0 if the system does not report it. */
  cpuSeconds(): Promise<number>;
  stop(): Promise<void>;
}

/** The embedded server with the settings that users get, crash-safe, in a directory that is removed at the end. */
export async function startServer(): Promise<BenchServer> {
  const dataDir = await mkdtemp(join(tmpdir(), 'toncenter-etl-bench-'));
  const server = await openEmbedded({ dataDir });
  return {
    create: (name, span) => createStore(server.url, name, span),
    createEmpty: (name) => createEmpty(server.url, name),
    remove: (url) => remove(server.url, url),
    cpuSeconds: () => cpuOf(server.dataDir).catch(() => 0),
    async stop() {
      await server.close();
      await rm(server.dataDir, { recursive: true, force: true });
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

/** Ticks of the clock in /proc. */
const TICKS_PER_SECOND = 100;

/** Of the server and of its processes, those that have ended included. */
async function cpuOf(dataDir: string): Promise<number> {
  const [server = ''] = (await readFile(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8')).split('\n');
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const stats = await Promise.all(pids.map((pid) => statOf(pid).catch(() => undefined)));
  let ticks = 0;
  for (const stat of stats) {
    if (stat?.pid === server) ticks += stat.own + stat.ended;
    else if (stat?.parent === server) ticks += stat.own;
  }
  return ticks / TICKS_PER_SECOND;
}

/** A process' parent, and its ticks: its own, and those of its children that have ended. */
async function statOf(pid: string) {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8');
  const [, parent = '', ...fields] = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const [user = 0, system = 0, endedUser = 0, endedSystem = 0] = fields.slice(9).map(Number);
  return { pid, parent, own: user + system, ended: endedUser + endedSystem };
}

async function createEmpty(server: string, name: string): Promise<string> {
  const admin = await connect(server);
  await admin.query(`create database ${pg.escapeIdentifier(name)}`);
  await admin.end();
  const url = new URL(server);
  url.pathname = `/${name}`;
  return url.href;
}

async function createStore(server: string, name: string, span?: Range): Promise<BenchStore> {
  const url = await createEmpty(server, name);
  const database = await openDatabase({ url, applicationName: 'bench' });
  await migrate(database);
  if (span !== undefined) await createPartitions(database, 'month').ensure(TABLES, monthsOf(span));
  const client = await connect(url);
  return {
    url,
    database,
    client,
    connect: () => connect(url),
    async close() {
      await client.end();
      await database.close();
    },
  };
}

async function remove(server: string, url: string): Promise<void> {
  const admin = await connect(server);
  await admin.query(`drop database ${pg.escapeIdentifier(new URL(url).pathname.slice(1))}`);
  await admin.query('checkpoint');
  await admin.end();
}

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  // After a measurement failed, the server stops with open connections. The failure itself is reported.
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

/** A time in every month of a range. */
export function monthsOf({ from, to }: Range): string[] {
  const times: string[] = [];
  for (let time = from; time < to; time += 14 * 86_400) times.push(formatTime(time));
  return times;
}

/** Rows of both tables. */
export async function countRows({ client }: BenchStore): Promise<number> {
  const counts = TABLE_NAMES.map((name) => `(select count(*) from ${name})`).join(' + ');
  const { rows } = await client.query<{ rows: number }>(`select (${counts})::int as rows`);
  return rows[0]?.rows ?? 0;
}
