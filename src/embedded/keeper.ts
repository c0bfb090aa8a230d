import { realpath, rename, rm, stat } from 'node:fs/promises';
import { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { spawn, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import pg from 'pg';
import * as z from 'zod';
import { systemClock, retry } from '../clock.ts';
import { codeOf, WrongDatabaseError } from '../errors.ts';
import { EMBEDDED_KEY } from '../locks.ts';
import { SQLSTATE, sqlstates } from '../sqlstate.ts';
import { DATABASE, SUPERUSER, serverConfiguration, type ServerSettings } from './server-settings.ts';
import type { Binaries } from './binaries.ts';
import { CHILD_ENVIRONMENT, runCommand, openOwned, writeOwned } from './server-account.ts';
import { embeddedFailure } from './failure.ts';
import { exists, readIfThere } from '../files.ts';
import type { ServerLocation } from './data-location.ts';

export interface Start {
  readonly location: ServerLocation;
  readonly binaries: Binaries;
  readonly settings: ServerSettings;
  readonly port: number;
}

/**
 * The result of a start. `port-taken`: another program uses the port. `occupied`: another server was faster, or a
 * dead one still has processes that use its shared memory. The last two can be retried.
 */
type StartResult = 'ready' | 'port-taken' | 'occupied';

const POLL_MS = 10;
/** Far longer than a server needs to write its lock file. */
const EMPTY_LOCK_MS = 2_000;
const LOG_LIMIT_BYTES = 1_000_000;

/**
 * Starts a server and waits until it accepts connections, however long its recovery takes. It runs in a session of
 * its own (Ctrl-C does not reach it), and continues after this process unless it is stopped.
 * @throws DatabaseError if it ended for a reason that a retry does not change
 */
export async function startServer(start: Start): Promise<StartResult> {
  const { location, settings } = start;
  await removeEmptyLock(location.pgdata);
  await configure(location, settings);
  const log = await openLog(location);
  try {
    const child = await launch(start, log.file.fd);
    const failure = await readiness(child, location.pgdata);
    if (failure === undefined) return 'ready';
    const words = (await readIfThere(log.path))?.slice(log.offset) ?? '';
    return judge(words === '' ? failure : words, location.dataDir);
  } finally {
    await log.file.close();
  }
}

/** Writes the configuration only if it changes: a full disk must not keep a server from finishing its recovery. */
async function configure({ pgdata, account }: ServerLocation, settings: ServerSettings): Promise<void> {
  const path = join(pgdata, 'postgresql.conf');
  const text = serverConfiguration(settings);
  if ((await readIfThere(path)) !== text) await writeOwned(path, text, account);
}

async function launch({ location, binaries, port }: Start, logFd: number): Promise<ChildProcess> {
  const onlyHere = ['-c', 'listen_addresses=127.0.0.1', '-c', 'unix_socket_directories='];
  const args = ['-D', location.pgdata, '-p', String(port), ...onlyHere];
  const child = spawn(binaries.postgres, args, {
    cwd: '/',
    detached: true,
    stdio: ['ignore', logFd, logFd],
    env: { ...CHILD_ENVIRONMENT, ...(await disownedPid(location.pgdata)) },
    ...location.account,
  });
  child.unref();
  return child;
}

/**
 * Postgres does not start while the process that postmaster.pid names is alive, unless it is an ancestor (pg_ctl
 * names one in this variable). If another program has the dead server's number, naming it lets Postgres go on to its
 * real check: whether processes of the dead server still use its shared memory.
 */
async function disownedPid(pgdata: string): Promise<{ PG_GRANDPARENT_PID?: string }> {
  const left = await readPostmaster(pgdata);
  if (left === undefined || (await isServer(left.pid, pgdata))) return {};
  return { PG_GRANDPARENT_PID: String(left.pid) };
}

/** If a server died between creating its lock file and writing it, the empty file blocks every later start. */
async function removeEmptyLock(pgdata: string): Promise<void> {
  const path = join(pgdata, 'postmaster.pid');
  if ((await readIfThere(path)) !== '') return;
  await delay(EMPTY_LOCK_MS);
  if ((await readIfThere(path)) === '') await rm(path, { force: true });
}

/** Resolves to undefined when the server is ready, else to the reason. */
async function readiness(child: ChildProcess, pgdata: string): Promise<string | undefined> {
  let failure: string | undefined;
  child.once('error', (error) => (failure = error.message));
  child.once(
    'exit',
    (code, killedBy) => (failure ??= `postgres ended with ${killedBy ?? code ?? 'no exit code'}`),
  );
  while (failure === undefined) {
    const found = await readPostmaster(pgdata);
    if (found?.pid === child.pid && found?.status === 'ready') return undefined;
    await delay(POLL_MS);
  }
  return failure;
}

function judge(words: string, dataDir: string): StartResult {
  if (/could not (bind|create any TCP)/.test(words)) return 'port-taken';
  if (/lock file "[^"]*" (already exists|is empty)|shared memory block .* still in use/.test(words))
    return 'occupied';
  throw embeddedFailure(`the embedded Postgres in ${dataDir} does not start`, words);
}

/** The server's log. When it has grown too large, one older file is kept. */
async function openLog({ pgdata, account }: ServerLocation) {
  const path = join(pgdata, 'server.log');
  if ((await exists(path)) && (await stat(path)).size > LOG_LIMIT_BYTES) await rename(path, `${path}.1`);
  const file = await openOwned(path, 0, account);
  /** The offset at which the messages of this start begin. */
  const offset = (await file.stat()).size;
  return { path, file, offset };
}

interface Address {
  readonly port: number;
  readonly password: string;
  readonly pgdata: string;
}

/** The claim of one open handle on the server. */
export type Keeper = Awaited<ReturnType<typeof joinServer>>;

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
export async function joinServer(address: Address) {
  let session: Awaited<ReturnType<typeof openSession>> | undefined;
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
    /** Gives the claim up. If it was the last one, `stopServer` runs before another process can claim the server. */
    leave: async (stopServer: () => Promise<void>) => {
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

async function openSession(address: Address) {
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

/** The contents of `postmaster.pid`. The file stays if the server is killed. */
export interface Postmaster {
  readonly pid: number;
  readonly port: number;
  /** `starting` includes recovery, which can take minutes after a crash under load. */
  readonly status: 'starting' | 'ready' | 'stopping';
}

/**
 * The server that a data directory names; undefined if there is none, or if the file is not complete yet.
 * Lines: pid, data directory, start time, port, socket directory, listen address, shared memory, status.
 */
async function readPostmaster(pgdata: string): Promise<Postmaster | undefined> {
  const lines = (await readIfThere(join(pgdata, 'postmaster.pid')))?.split('\n') ?? [];
  const [pid, port] = [Number(lines[0]), Number(lines[3])];
  if (!Number.isInteger(pid) || pid <= 0) return undefined;
  const word = lines[7]?.trim();
  // A standby accepts connections, too.
  const isReady = word === 'ready' || word === 'standby';
  const status = isReady ? 'ready' : word === 'stopping' ? 'stopping' : 'starting';
  return { pid, port: Number.isInteger(port) ? port : 0, status };
}

/**
 * True if a process lives and is the server of `pgdata`, by the directory on its command line: its number may belong to
 * another program by now. Its working directory would tell the same, but root in a container may not be allowed to read
 * that of another user's process.
 */
async function isServer(pid: number, pgdata: string): Promise<boolean> {
  if (!isAlive(pid)) return false;
  if (process.platform === 'win32') return true;
  const words = process.platform === 'linux' ? await wordsOnLinux(pid) : await wordsElsewhere(pid);
  const directory = words?.[words.indexOf('-D') + 1];
  return directory !== undefined && (await sameDirectory(directory, pgdata));
}

/** The command line; undefined for a zombie, too. In a container without an init process a zombie may stay forever. */
async function wordsOnLinux(pid: number): Promise<string[] | undefined> {
  const words = await readIfThere(`/proc/${pid}/cmdline`);
  return words === undefined || words === '' ? undefined : words.split('\0');
}

/**
 * The command line, split at spaces. A directory with a space in its name is then taken for another one, and Postgres
 * decides.
 */
async function wordsElsewhere(pid: number): Promise<string[] | undefined> {
  const { status, stdout } = await runCommand('ps', ['-o', 'command=', '-p', String(pid)]);
  return status === 0 ? stdout.trim().split(/\s+/) : undefined;
}

async function sameDirectory(one: string, other: string): Promise<boolean> {
  if (one === other) return true;
  return (await realpath(one).catch(() => one)) === (await realpath(other));
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return codeOf(error) === 'EPERM';
  }
}

/** The server that runs in a data directory; undefined if none does. */
export async function runningPostmaster(pgdata: string): Promise<Postmaster | undefined> {
  const server = await readPostmaster(pgdata);
  return server !== undefined && (await isServer(server.pid, pgdata)) ? server : undefined;
}

/** Requests a "fast" shutdown (disconnect clients, checkpoint, end), and waits until the server has ended. */
export async function stopPostmaster(pgdata: string): Promise<void> {
  const server = await runningPostmaster(pgdata);
  if (server === undefined) return;
  process.kill(server.pid, 'SIGINT');
  while (await isServer(server.pid, pgdata)) await delay(POLL_MS);
}
