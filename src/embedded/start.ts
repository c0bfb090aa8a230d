import { spawn, type ChildProcess } from 'node:child_process';
import { rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Binaries } from './binaries.ts';
import { CHILD_ENVIRONMENT } from './command.ts';
import { embeddedFailure } from './failure.ts';
import { exists, openOwned, readIfThere, writeOwned } from './owned-files.ts';
import type { ServerLocation } from './data-location.ts';
import { lifeOf, readPostmaster } from './postmaster.ts';
import { serverConfiguration, type ServerSettings } from './server-settings.ts';

interface Start {
  readonly location: ServerLocation;
  readonly binaries: Binaries;
  readonly settings: ServerSettings;
  readonly port: number;
  readonly signal: AbortSignal | undefined;
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
  const { location, settings, signal } = start;
  await removeEmptyLock(location.pgdata);
  await configure(location, settings);
  const log = await openLog(location);
  try {
    const child = await launch(start, log.fd);
    const failure = await readiness(child, location.pgdata, signal);
    if (failure === undefined) return 'ready';
    const words = (await readIfThere(log.path))?.slice(log.offset) ?? '';
    return judge(words === '' ? failure : words, location.dataDir);
  } finally {
    await log.close();
  }
}

/** Writes the configuration only if it changes: a full disk must not keep a server from finishing its recovery. */
async function configure({ pgdata, account }: ServerLocation, settings: ServerSettings): Promise<void> {
  const path = join(pgdata, 'postgresql.conf');
  const text = serverConfiguration(settings);
  if ((await readIfThere(path)) !== text) await writeOwned(path, text, account);
}

async function launch({ location, binaries, port }: Start, logFd: number): Promise<ChildProcess> {
  const args = [
    '-D',
    location.pgdata,
    '-p',
    String(port),
    '-c',
    'listen_addresses=127.0.0.1',
    '-c',
    'unix_socket_directories=',
  ];
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
  if (left === undefined || (await lifeOf(left.pid, pgdata)) === 'alive') return {};
  return { PG_GRANDPARENT_PID: String(left.pid) };
}

/** If a server died between creating its lock file and writing it, the empty file blocks every later start. */
async function removeEmptyLock(pgdata: string): Promise<void> {
  const path = join(pgdata, 'postmaster.pid');
  if ((await readIfThere(path)) !== '') return;
  await delay(EMPTY_LOCK_MS);
  if ((await readIfThere(path)) === '') await rm(path, { force: true });
}

/** Resolves to undefined when the server is ready, else to the reason. Stops the server if `signal` is aborted. */
async function readiness(
  child: ChildProcess,
  pgdata: string,
  signal?: AbortSignal,
): Promise<string | undefined> {
  let failure: string | undefined;
  child.once('error', (error) => (failure = error.message));
  child.once(
    'exit',
    (code, killedBy) => (failure ??= `postgres ended with ${killedBy ?? code ?? 'no exit code'}`),
  );
  while (failure === undefined) {
    const found = await readPostmaster(pgdata);
    if (found?.pid === child.pid && found?.status === 'ready') return undefined;
    if (signal?.aborted === true) child.kill('SIGINT');
    await delay(POLL_MS);
  }
  signal?.throwIfAborted();
  return failure;
}

function judge(words: string, dataDir: string): StartResult {
  if (/could not (bind|create any TCP)/.test(words)) return 'port-taken';
  if (/lock file "[^"]*" (already exists|is empty)|shared memory block .* still in use/.test(words))
    return 'occupied';
  throw embeddedFailure(`the embedded Postgres in ${dataDir} does not start`, words);
}

interface Log {
  readonly path: string;
  readonly fd: number;
  /** The offset at which the messages of this start begin. */
  readonly offset: number;
  close(): Promise<void>;
}

/** The server's log. When it has grown too large, one older file is kept. */
async function openLog({ pgdata, account }: ServerLocation): Promise<Log> {
  const path = join(pgdata, 'server.log');
  if ((await exists(path)) && (await stat(path)).size > LOG_LIMIT_BYTES) await rename(path, `${path}.1`);
  const file = await openOwned(path, 0, account);
  return { path, fd: file.fd, offset: (await file.stat()).size, close: () => file.close() };
}
