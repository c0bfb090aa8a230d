import { realpath } from 'node:fs/promises';
import { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import * as z from 'zod';
import { systemClock } from '../clock.ts';
import { codeOf, WrongDatabaseError } from '../errors.ts';
import { EMBEDDED_KEY } from '../locks.ts';
import { retry } from '../retry.ts';
import { SQLSTATE, sqlstates } from '../sqlstate.ts';
import { DATABASE, SUPERUSER } from './server-settings.ts';

interface Address {
  readonly port: number;
  readonly password: string;
  readonly pgdata: string;
}

/** One open handle's claim on the server. */
export interface Keeper {
  /** Gives the claim up; where it was the last one, `stopServer` runs before anybody else can claim the server. */
  leave(stopServer: () => Promise<void>): Promise<void>;
}

/** Ten seconds. A handle that was forgotten does not keep the process alive. */
const REJOIN = {
  attempts: 50,
  delay: () => 200,
  clock: {
    ...systemClock,
    sleep: (ms: number, signal?: AbortSignal) =>
      delay(ms, undefined, { ref: false, ...(signal && { signal }) }),
  },
  random: Math.random,
};

/** Two that make it at once: the second finds it there, or on its way. */
const DUPLICATE_DATABASE = sqlstates(SQLSTATE.duplicateDatabase, SQLSTATE.uniqueViolation);
const LOGIN_REFUSED = sqlstates(SQLSTATE.invalidPassword, SQLSTATE.invalidAuthorizationSpecification);

/**
 * Claims the server at `address` with a session that holds a shared advisory lock. Whoever can take the lock alone is
 * the last one; a process that dies gives its claim up with its connection, so there is no file that could be stale.
 * An opener that meets the last one's closing waits for the lock, and finds its own session ended.
 * @throws WrongDatabaseError where another server answers, or ours refuses the login; the driver's error where nothing
 * answers or the server is about to end.
 */
export async function joinServer(address: Address): Promise<Keeper> {
  let session: KeptSession | undefined;
  let rejoining: Promise<void> | undefined;
  const leaving = new AbortController();

  async function join(): Promise<void> {
    const joined = await openSession(address);
    session = joined;
    // A handle that was forgotten does not keep the process alive.
    joined.socket.unref();
    joined.client.once('end', () => {
      session = undefined;
      rejoining = rejoin();
    });
  }

  /** Sessions end while the server lives when Postgres restarts them all because one of them crashed. */
  async function rejoin(): Promise<void> {
    const { signal } = leaving;
    if (signal.aborted) return;
    await retry({ ...REJOIN, when: () => true, signal }, join).catch(() => undefined);
  }

  await join();
  return {
    async leave(stopServer) {
      leaving.abort();
      await rejoining;
      // Where nothing answers there is no server to stop.
      const last = session ?? (await openSession(address).catch(() => undefined));
      if (last === undefined) return;
      last.socket.ref();
      try {
        // A session that ends at this moment ends with its server.
        if (await isLast(last.client).catch(() => false)) await stopServer();
      } finally {
        await last.client.end().catch(() => undefined);
      }
    },
  };
}

interface KeptSession {
  readonly client: pg.Client;
  readonly socket: Socket;
}

async function openSession(address: Address): Promise<KeptSession> {
  const socket = new Socket();
  const client = new pg.Client({
    host: '127.0.0.1',
    port: address.port,
    user: SUPERUSER,
    password: address.password,
    database: 'postgres',
    // Whatever PGSSLMODE says of other servers.
    ssl: false,
    application_name: 'toncenter-etl keeper',
    // Nothing that is created there is called in place of Postgres' own functions.
    options: '-c search_path=pg_catalog,pg_temp',
    connectionTimeoutMillis: 5_000,
    stream: () => socket,
  });
  // What ends a session is followed by its `end`, where it is dealt with.
  client.on('error', () => undefined);
  try {
    await client.connect();
    await identify(client, address);
    await client.query('select pg_advisory_lock_shared($1)', [EMBEDDED_KEY]);
    await ensureDatabase(client);
  } catch (error) {
    await client.end().catch(() => undefined);
    throw LOGIN_REFUSED.test(codeOf(error) ?? '') ? notOurServer(address, error) : error;
  }
  return { client, socket };
}

/** The port in postmaster.pid could have gone to another server since. */
async function identify(client: pg.Client, address: Address): Promise<void> {
  const { rows } = await client.query("select current_setting('data_directory') as directory");
  const { directory } = z.object({ directory: z.string() }).parse(rows[0]);
  const actual = await realpath(directory).catch(() => directory);
  if (actual !== (await realpath(address.pgdata))) throw notOurServer(address);
}

function notOurServer({ port, pgdata }: Address, cause?: unknown): WrongDatabaseError {
  return new WrongDatabaseError(
    `the Postgres on port ${port} is not the one that this program made in ${pgdata}`,
    {
      hint: 'Stop that server, or set DATABASE_URL to it if it is the one you mean.',
      cause,
    },
  );
}

async function ensureDatabase(client: pg.Client): Promise<void> {
  const { rowCount } = await client.query('select from pg_database where datname = $1', [DATABASE]);
  if (rowCount !== 0) return;
  try {
    await client.query(`create database ${pg.escapeIdentifier(DATABASE)}`);
  } catch (error) {
    if (!DUPLICATE_DATABASE.test(codeOf(error) ?? '')) throw error;
  }
}

/** Of several that leave at once exactly one is the last: each gives its share up before it tries for the whole. */
async function isLast(client: pg.Client): Promise<boolean> {
  await client.query('select pg_advisory_unlock_shared($1)', [EMBEDDED_KEY]);
  const { rows } = await client.query('select pg_try_advisory_lock($1) as alone', [EMBEDDED_KEY]);
  return z.object({ alone: z.boolean() }).parse(rows[0]).alone;
}
