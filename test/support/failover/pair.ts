import { chown, mkdir, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import pg from 'pg';
import { runCommand } from '../../../src/embedded/server-account.ts';
import { openEmbedded, type EmbeddedServer } from '../../../src/embedded/embedded.ts';
import { runningPostmaster, stopPostmaster } from '../../../src/embedded/keeper.ts';
import { formatPostgres, parsePostgres } from '../../../src/settings/postgres-url.ts';
import { query } from '../database/query.ts';

/** One server of a pair; its URL stays the same in both roles. */
export interface Node {
  readonly url: string;
  /** Kills all of its processes at once, like a power failure. */
  kill(): Promise<void>;
  query(text: string): Promise<Record<string, unknown>[]>;
}

/** Two embedded servers, one of which streams to the other. */
export interface Pair {
  primary(): Node;
  standby(): Node;
  /** Both addresses as one connection string, with `target_session_attrs`. */
  url(wants: string): string;
  /** Sets whether commits wait until the standby has applied them. */
  wait(isSynchronous: boolean): Promise<void>;
  /** Cuts the standby off. */
  cutOff(): Promise<void>;
  /** Makes the standby the primary; the former primary is no part of the pair any more. */
  promote(): Promise<void>;
  /** Makes the former primary a standby of the new one, from a copy of that. */
  rejoin(): Promise<void>;
  close(): Promise<void>;
}

/** The settings of a server that another can follow. */
export const REPLICATION = {
  wal_level: 'replica',
  max_wal_senders: '4',
  // Keeps what the standby has not fetched yet while the copy is made.
  wal_keep_size: '512MB',
  max_wal_size: '512MB',
  // A standby that was cut off must not be waited for.
  wal_sender_timeout: '2s',
};

/** A server with its data; closed and opened again, it is at the same port. */
interface Member extends Node {
  readonly directory: string;
  open(port?: number): Promise<EmbeddedServer>;
  close(): Promise<void>;
}

const SETTINGS = {
  ...REPLICATION,
  fsync: 'off',
  shared_buffers: '64MB',
  max_locks_per_transaction: '256',
};

/** Makes a primary and its standby in directories below `scratch`, which every user can enter. */
export async function openPair(scratch: string): Promise<Pair> {
  let [primary, standby] = [createMember(join(scratch, 'one')), createMember(join(scratch, 'two'))];
  await primary.open();
  const rejoin = async () => {
    await standby.kill();
    await standby.close();
    await copyAsStandby(primary, standby.directory);
    await standby.open();
  };
  await rejoin();
  return {
    primary: () => primary,
    standby: () => standby,
    url: (wants) => {
      const [one, two] = [parsePostgres(primary.url), parsePostgres(standby.url)];
      const ports = [one, two].map((server) => server.get('port')).sort();
      const hosts = { host: '127.0.0.1,127.0.0.1', port: ports.join(','), target_session_attrs: wants };
      return formatPostgres(new Map([...one, ...Object.entries(hosts)]));
    },
    async wait(isSynchronous) {
      await primary.query(`alter system set synchronous_standby_names = '${isSynchronous ? '*' : ''}'`);
      await primary.query(`alter system set synchronous_commit = ${isSynchronous ? 'remote_apply' : 'on'}`);
      await primary.query('select pg_reload_conf()');
    },
    async cutOff() {
      await standby.query("alter system set primary_conninfo = ''");
      await standby.query('select pg_reload_conf()');
      await until(async () => (await standby.query('select from pg_stat_wal_receiver')).length === 0);
    },
    async promote() {
      // Otherwise every commit would wait for the name of the former standby.
      await standby.query("alter system set synchronous_standby_names = ''");
      await standby.query('select pg_promote()');
      [primary, standby] = [standby, primary];
    },
    rejoin,
    close: async () => {
      await standby.close();
      await primary.close();
    },
  };
}

function createMember(directory: string): Member {
  let server: EmbeddedServer | undefined;
  let port: number | undefined;
  const pgdata = join(directory, 'postgres');
  return {
    directory,
    get url() {
      return server?.url ?? '';
    },
    async open() {
      server = await openEmbedded({
        dataDir: directory,
        settings: SETTINGS,
        ...(port !== undefined && { port }),
      });
      port = server.port;
      return server;
    },
    async kill() {
      const postmaster = await runningPostmaster(pgdata);
      if (postmaster === undefined) return;
      process.kill(postmaster.pid, 'SIGQUIT');
      await until(async () => (await runningPostmaster(pgdata)) === undefined);
    },
    async close() {
      await server?.close();
      await stopPostmaster(pgdata);
    },
    query: (text) => query(server?.url ?? '', text),
  };
}

/**
 * Does what pg_basebackup does, which the embedded binaries lack: it copies the files, and the server's
 * backup label.
 */
export async function copyAsStandby(
  primary: Pick<Member, 'url' | 'directory'>,
  directory: string,
): Promise<void> {
  const [from, to] = [join(primary.directory, 'postgres'), join(directory, 'postgres')];
  await rm(directory, { recursive: true, force: true });
  const client = new pg.Client({ connectionString: primary.url });
  await client.connect();
  try {
    await client.query(`select pg_backup_start('standby', true)`);
    await mkdir(to, { recursive: true, mode: 0o700 });
    const names = (await readdir(from)).filter((name) => name !== 'postmaster.pid' && name !== 'pg_wal');
    const { status, stderr } = await runCommand('cp', ['-a', ...names.map((name) => join(from, name)), to]);
    const isOther = (line: string) => line !== '' && !line.includes('No such file or directory');
    if (status !== 0 && stderr.split('\n').some(isOther)) throw new Error(stderr);
    const { rows } = await client.query<{ label: string }>(
      'select labelfile as label from pg_backup_stop(false)',
    );
    const own = { uid: (await stat(from)).uid, gid: (await stat(from)).gid };
    await mkdir(join(to, 'pg_wal'), { mode: 0o700 });
    await writeFile(join(to, 'backup_label'), rows[0]?.label ?? '');
    await writeFile(join(to, 'standby.signal'), '');
    await writeFile(join(to, 'postgresql.auto.conf'), `primary_conninfo = '${conninfo(primary.url)}'\n`);
    for (const name of ['', 'pg_wal', 'backup_label', 'standby.signal', 'postgresql.auto.conf'])
      await chown(join(to, name), own.uid, own.gid);
    for (const name of [directory]) await chown(name, own.uid, own.gid);
  } finally {
    await client.end();
  }
}

function conninfo(url: string): string {
  const server = parsePostgres(url);
  const get = (name: string) => server.get(name) ?? '';
  return `host=127.0.0.1 port=${get('port')} user=${get('user')} password=${get('password')} application_name=${randomBytes(3).toString('hex')}`;
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 20));
}
