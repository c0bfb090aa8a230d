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

/** The claim of one open handle on the server. */
export interface Keeper {
  /** Gives the claim up. If it was the last one, `stopServer` runs before another process can claim the server. */
  leave(stopServer: () => Promise<void>): Promise<void>;
}

/** Ten seconds. Its timers do not keep the process alive if the caller forgets to close the handle. */
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

/** Two sessions created the database at the same time. */
const DUPLICATE_DATABASE = sqlstates(SQLSTATE.duplicateDatabase, SQLSTATE.uniqueViolation);
const LOGIN_REFUSED = sqlstates(SQLSTATE.invalidPassword, SQLSTATE.invalidAuthorizationSpecification);

/**
 * Claims the server with a session that holds a shared advisory lock. The process that can take the lock exclusively
 * is the last one. If a process dies, its claim ends with its connection, so no file can become stale. If a process
 * joins while the last one closes, it waits for the lock, and its session is ended with the server.
 * @throws WrongDatabaseError if another server answers, or this one refuses the login; the driver's error if nothing
 * answers or the server is shutting down
 */
export async function joinServer(address: Address): Promise<Keeper> {
  let session: KeptSession | undefined;
  let rejoining: Promise<void> | undefined;
  const leaving = new AbortController();

  async function join(): Promise<void> {
    const joined = await openSession(address);
    session = joined;
    // The process can end even if the handle is not closed.
    joined.socket.unref();
    joined.client.once('end', () => {
      session = undefined;
      rejoining = rejoin();
    });
  }

  /** Reconnects. If one session crashes, Postgres ends all sessions, but the server lives on. */
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
      // If nothing answers, there is no server to stop.
      const last = session ?? (await openSession(address).catch(() => undefined));
      if (last === undefined) return;
      last.socket.ref();
      try {
        // If the session ends at this moment, the server ends, too.
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
    // Independent of PGSSLMODE, which is about other servers.
    ssl: false,
    application_name: 'toncenter-etl keeper',
    // No object that is created there can replace Postgres' own functions.
    options: '-c search_path=pg_catalog,pg_temp',
    connectionTimeoutMillis: 5_000,
    stream: () => socket,
  });
  // An error that ends the session is followed by `end`, which is handled.
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

/** Since postmaster.pid was written, another server may have taken the port. */
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

/**
 * If several processes leave at once, exactly one is the last: each releases its shared lock before it tries the
 * exclusive one.
 */
async function isLast(client: pg.Client): Promise<boolean> {
  await client.query('select pg_advisory_unlock_shared($1)', [EMBEDDED_KEY]);
  const { rows } = await client.query('select pg_try_advisory_lock($1) as alone', [EMBEDDED_KEY]);
  return z.object({ alone: z.boolean() }).parse(rows[0]).alone;
}
