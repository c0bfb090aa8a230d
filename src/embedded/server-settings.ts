import { createHash } from 'node:crypto';
import { createServer } from 'node:net';
import { DatabaseUnavailableError } from '../errors.ts';

/** The role that owns the cluster. Connection strings use it. */
export const SUPERUSER = 'postgres';

/** The database in connection strings. */
export const DATABASE = 'toncenter_etl';

/** Settings of a Postgres server by name, as in postgresql.conf. */
export type ServerSettings = Readonly<Record<string, string>>;

/**
 * Defaults for a laptop with 8 GB or more, which other programs use too. They are crash-safe: fsync, full_page_writes and
 * synchronous_commit keep their defaults (on). `wal_level = minimal` omits from the WAL only what replicas would need.
 */
const DEFAULTS: ServerSettings = {
  max_connections: '100',
  // A query over a table partitioned by month locks every partition and index of it.
  max_locks_per_transaction: '1024',
  shared_buffers: '256MB',
  work_mem: '16MB',
  maintenance_work_mem: '256MB',
  wal_level: 'minimal',
  max_wal_senders: '0',
  wal_buffers: '16MB',
  max_wal_size: '2GB',
  min_wal_size: '256MB',
  checkpoint_timeout: '15min',
  random_page_cost: '1.1',
  jit: 'off',
  autovacuum: 'on',
  timezone: 'UTC',
  log_timezone: 'UTC',
  lc_messages: 'C',
  log_checkpoints: 'off',
  log_line_prefix: '%m [%p] ',
};

/**
 * The text of postgresql.conf, which is rewritten before each start. Settings of `alter system` are in
 * postgresql.auto.conf and win.
 */
export function serverConfiguration(overrides: ServerSettings): string {
  const lines = Object.entries({ ...DEFAULTS, ...overrides }).map(([name, value]) => `${name} = '${value}'`);
  return `# Written by toncenter-etl at each start. Use ALTER SYSTEM to change a setting for good.\n${lines.join('\n')}\n`;
}

/** Below the range that systems use for outgoing connections. */
const FIRST_PORT = 20_000;
const PORTS = 10_000;
const ATTEMPTS = 50;

/** The first port to try for a directory: always the same, and different for each directory. */
export function usualPort(directory: string): number {
  return FIRST_PORT + (createHash('sha256').update(directory).digest().readUInt32BE(0) % PORTS);
}

/**
 * The first free port of 127.0.0.1 at or after `preferred`, without those in `taken`. If another program takes it
 * first, the caller adds it to `taken` and asks again.
 */
export async function freePort(preferred: number, taken: ReadonlySet<number>): Promise<number> {
  for (let port = preferred; port < preferred + ATTEMPTS && port < 65_536; port++) {
    if (!taken.has(port) && (await isFree(port))) return port;
  }
  throw new DatabaseUnavailableError(`no port from ${preferred} on is free for the embedded Postgres`, {
    hint: 'Stop what listens there, or try again.',
  });
}

/** True if this port of 127.0.0.1 is free now. */
async function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => server.close(() => resolve(true)));
  });
}
