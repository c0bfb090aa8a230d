import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { openDatabase } from '../../src/postgres/database.ts';
import { openEmbedded, type EmbeddedServer } from '../../src/embedded/embedded.ts';
import { migrate } from '../../src/migrate/migrate.ts';
import { query } from '../../test/support/database/query.ts';
import { copyAsStandby, REPLICATION } from '../../test/support/failover/pair.ts';

const TEMPLATE = 'migrated';
/** A killed server is back within this time, or the test fails. */
const RESTART_WITHIN_MS = 30_000;

/** A Postgres of the harness that can be killed. */
export interface Cluster {
  readonly port: number;
  /** Connection string of the superuser. */
  readonly url: string;
  readonly version: string;
  /** Connection string of a new, migrated database. */
  createDatabase(name: string): Promise<string>;
  dropDatabase(name: string): Promise<void>;
  /** SIGKILL to the server's first process; the others end when they notice. Starts it again. */
  killAndRestart(): Promise<void>;
  /** Replaces it by a standby that lacks the commits of the last `ms`. */
  failOver(ms: number): Promise<void>;
  stop(): Promise<void>;
}

/** Without fsync: a killed process loses nothing that the system's cache holds. */
const SETTINGS = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  shared_buffers: '64MB',
  // Few enough that a test can take all of them.
  max_connections: '60',
  ...REPLICATION,
};

export async function openCluster(dataDir: string): Promise<Cluster> {
  let current = dataDir;
  const open = () => openEmbedded({ dataDir: current, settings: SETTINGS });
  const handles: EmbeddedServer[] = [await open()];
  const server = () => handles.at(-1)!;
  const asAdmin = <T>(work: (client: pg.Client) => Promise<T>) => withClient(server().url, work);
  const version = await asAdmin(async (admin) => {
    await admin.query(`create database ${TEMPLATE}`);
    const { rows } = await admin.query<{ server_version: string }>('show server_version');
    return rows[0]?.server_version ?? '';
  });
  await migrateTemplate(server().url);
  return {
    version,
    get url() {
      return server().url;
    },
    get port() {
      return server().port;
    },
    async createDatabase(name) {
      await asAdmin((admin) => admin.query(`create database ${name} template ${TEMPLATE}`));
      return urlOf(server().url, name);
    },
    async dropDatabase(name) {
      await asAdmin((admin) => admin.query(`drop database if exists ${name} with (force)`));
    },
    async killAndRestart() {
      await kill(server());
      handles.push(await openSoon(open));
    },
    async failOver(ms) {
      const primary = server();
      const directory = `${primary.dataDir}-${handles.length}`;
      await copyAsStandby({ url: primary.url, directory: primary.dataDir }, directory);
      current = directory;
      const standby = await openSoon(open);
      await followAndPromote(standby, async () => {
        await delay(ms);
        await kill(primary);
      });
      handles.push(standby);
      await remove(primary);
    },
    async stop() {
      for (const handle of handles) await remove(handle);
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

async function kill({ dataDir }: EmbeddedServer): Promise<void> {
  const pid = Number((await readFile(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8')).split('\n')[0]);
  process.kill(pid, 'SIGKILL');
}

async function remove(handle: EmbeddedServer): Promise<void> {
  await handle.close().catch(() => undefined);
  await rm(handle.dataDir, { recursive: true, force: true });
}

/** Lets a standby catch up, cuts it off, and makes it the primary when `meanwhile` is done. */
async function followAndPromote({ url }: EmbeddedServer, meanwhile: () => Promise<void>): Promise<void> {
  const receives = async (count: number) => {
    const asked = `select 1 from pg_stat_wal_receiver where status = 'streaming'`;
    const deadline = performance.now() + RESTART_WITHIN_MS;
    while ((await query(url, asked)).length !== count) {
      if (performance.now() > deadline) throw new Error('the standby does not follow');
      await delay(50);
    }
  };
  await receives(1);
  await query(url, "alter system set primary_conninfo = ''");
  await query(url, 'select pg_reload_conf()');
  await receives(0);
  await meanwhile();
  await query(url, 'select pg_promote()');
}

async function withClient<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url });
  // The server may be killed while the client is idle.
  client.on('error', () => undefined);
  await client.connect();
  return work(client).finally(() => client.end());
}

async function migrateTemplate(server: string): Promise<void> {
  const template = await openDatabase({ url: urlOf(server, TEMPLATE), applicationName: 'chaos' });
  await migrate(template);
  await template.close();
}

/** Tries until the processes of the killed server have ended. */
async function openSoon(open: () => Promise<EmbeddedServer>): Promise<EmbeddedServer> {
  const deadline = performance.now() + RESTART_WITHIN_MS;
  for (;;) {
    try {
      return await open();
    } catch (error) {
      if (performance.now() > deadline) throw error;
      await delay(100);
    }
  }
}

export function urlOf(server: string, name: string, port?: number): string {
  const url = new URL(server);
  url.pathname = `/${name}`;
  if (port !== undefined) url.port = String(port);
  return url.href;
}
