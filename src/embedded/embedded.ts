import { resolve, join } from 'node:path';
import { systemClock, type Clock } from '../clock.ts';
import type { Logger } from '../logger.ts';
import { findBinaries, type Binaries } from './binaries.ts';
import { openCluster, type Credentials, keepCredentials, createCluster } from './cluster.ts';
import { translateFailure } from './failure.ts';
import {
  chooseLocation,
  whereDataAre,
  type ServerLocation,
  reachableBinaries,
  FALLBACK_DIRECTORIES,
} from './data-location.ts';
import { stopPostmaster, runningPostmaster, type Postmaster } from './postmaster.ts';
import { DATABASE, SUPERUSER, type ServerSettings, freePort, isFree } from './server-settings.ts';
import { codeOf, DatabaseUnavailableError, EtlError, isAbort } from '../errors.ts';
import { joinServer, type Keeper, startServer } from './keeper.ts';
import { SQLSTATE, SQLSTATE_CLASS, sqlstates } from '../sqlstate.ts';

export interface EmbeddedOptions {
  /** Created if it does not exist. Must contain only this database. */
  readonly dataDir: string;
  readonly logger?: Logger;
  readonly signal?: AbortSignal;
  /** The port to start on. Default: the port of the last start, or else the next free one. */
  readonly port?: number;
  /** Settings that override the defaults. They apply if this call starts the server. */
  readonly settings?: ServerSettings;
  readonly clock?: Clock;
  /** The directory with Postgres' bin, lib and share. Default: the npm package for this platform. */
  readonly native?: string;
  /**
   * Directories for root's data that the server's user must reach. Default: below /var/lib, else below the directory
   * for temporary files.
   */
  readonly fallbacks?: readonly string[];
}

/** An open handle on the embedded server. */
export interface EmbeddedServer {
  /** `postgres://user:password@127.0.0.1:port/database`. It stays the same as long as the port is free. */
  readonly url: string;
  readonly port: number;
  /** The directory of the data (absolute): the one that was asked for, or its fallback. */
  readonly dataDir: string;
  /** Closes the handle. Closing the last handle of all processes stops the server and waits until it has ended. */
  readonly close: () => Promise<void>;
}

/**
 * Opens the embedded Postgres in `dataDir`: creates it at the first call, and starts it if it does not run. It joins a
 * server that another process runs, or that a killed process left behind. The server runs as long as any process has an open handle. A
 * process that dies loses its handles, and the next process takes the server over.
 *
 * @throws WrongDatabaseError for a directory of another program or another major version, DatabaseError if this
 * system cannot run it, DatabaseUnavailableError if it does not answer; each with a hint.
 */
export async function openEmbedded(options: EmbeddedOptions): Promise<EmbeddedServer> {
  const intended = resolve(options.dataDir);
  try {
    const fallbacks = options.fallbacks ?? FALLBACK_DIRECTORIES;
    const installed = await findBinaries(options.native);
    const location = await chooseLocation(intended, fallbacks);
    const binaries = () => reachableBinaries(installed, location.account, fallbacks);
    const settings = options.settings ?? {};
    const credentials = await openCluster(location, installed.major, async () => {
      if (location.dataDir !== intended)
        options.logger?.warn(
          { intended, dataDir: location.dataDir },
          'the database is stored in another directory, because the server user cannot enter the intended one',
        );
      options.logger?.info(
        { dataDir: location.dataDir },
        'creating the embedded database, which takes some seconds',
      );
      await createCluster({ location, binaries: await binaries(), settings, signal: options.signal });
    });
    const opening = {
      ...options,
      settings,
      location,
      binaries,
      credentials,
      clock: options.clock ?? systemClock,
    };
    return handle(location, credentials, await joinOrStart(opening));
  } catch (error) {
    throw options.signal?.aborted === true ? error : translateFailure(error, intended);
  }
}

/** True if an embedded server has data in this directory, or in its fallback. */
export async function hasData(dataDir: string, fallbacks = FALLBACK_DIRECTORIES): Promise<boolean> {
  return (await whereDataAre(resolve(dataDir), fallbacks)) !== undefined;
}

function handle(
  { dataDir, pgdata }: ServerLocation,
  { password }: Credentials,
  { keeper, port }: Joined,
): EmbeddedServer {
  let closing: Promise<void> | undefined;
  return {
    url: `postgresql://${SUPERUSER}:${password}@127.0.0.1:${port}/${DATABASE}`,
    port,
    dataDir,
    close: () => (closing ??= keeper.leave(() => stopPostmaster(pgdata))),
  };
}

interface ServerOpening {
  readonly location: ServerLocation;
  /** Called only if a server must be started: root may have to copy the binaries first. */
  readonly binaries: () => Promise<Binaries>;
  readonly credentials: Credentials;
  readonly settings: ServerSettings;
  readonly clock: Clock;
  readonly port?: number;
  readonly logger?: Logger;
  readonly signal?: AbortSignal;
}

interface Joined {
  readonly keeper: Keeper;
  readonly port: number;
}

/** Timeout for a server that does not answer, or for a dead one that still holds shared memory. Recovery is not counted. */
const TIMEOUT_MS = 20_000;
const PAUSE_MS = 20;

/** Temporary errors: the server is starting, stopping, or has no free connection. */
const PASSING = sqlstates(
  SQLSTATE_CLASS.connectionException,
  SQLSTATE_CLASS.operatorIntervention,
  SQLSTATE.tooManyConnections,
);
/** The same as codes of the operating system. */
const PASSING_SYSTEM = /^(ECONN.*|EPIPE|ETIMEDOUT)$/;

/**
 * Joins or starts the server, and retries until it has a claim on it. No lock is needed: Postgres lets only one
 * server into a directory, so the second process finds the first one's server and joins it.
 */
async function joinOrStart(opening: ServerOpening): Promise<Joined> {
  const { location, clock, signal } = opening;
  const takenPorts = new Set<number>();
  let waitingSince = clock.monotonic();
  let reason: unknown;
  for (;;) {
    const server = await runningPostmaster(location.pgdata);
    // A started server is joined before the signal is checked again, so that an abort leaves no server behind.
    if (server === undefined && (await start(opening, takenPorts))) continue;
    if (server?.status === 'starting') waitingSince = clock.monotonic();
    if (server?.status === 'ready') {
      const attempt = await tryToJoin(opening, server);
      if ('keeper' in attempt) return attempt;
      reason = attempt.reason;
    }
    if (clock.monotonic() - waitingSince > TIMEOUT_MS) throw noResponse(location, server, reason);
    await clock.sleep(PAUSE_MS, signal);
  }
}

async function tryToJoin(
  opening: ServerOpening,
  { port }: Postmaster,
): Promise<Joined | { reason: unknown }> {
  const { location, credentials, signal, logger } = opening;
  try {
    const keeper = await joinServer({ port, password: credentials.password, pgdata: location.pgdata });
    if (signal?.aborted === true) await keeper.leave(() => stopPostmaster(location.pgdata));
    signal?.throwIfAborted();
    logger?.debug({ dataDir: location.dataDir, port }, 'embedded Postgres joined');
    return { keeper, port };
  } catch (error) {
    if (error instanceof EtlError || isAbort(error) || !isPassing(codeOf(error))) throw error;
    return { reason: error };
  }
}

/** The driver sets no code for a connection that was cut or timed out. */
function isPassing(code: string | undefined): boolean {
  return code === undefined || PASSING.test(code) || PASSING_SYSTEM.test(code);
}

/** Tries once to start the server. Returns true when it is ready; after a temporary failure, the next check decides. */
async function start(opening: ServerOpening, takenPorts: Set<number>): Promise<boolean> {
  const { location, credentials, settings, signal, logger, clock } = opening;
  signal?.throwIfAborted();
  const port = await choosePort(opening, takenPorts);
  const began = clock.monotonic();
  const result = await startServer({ location, settings, port, signal, binaries: await opening.binaries() });
  if (result === 'port-taken') takenPorts.add(port);
  if (result !== 'ready') return false;
  if (port !== credentials.port) await keepCredentials(location, { ...credentials, port });
  const ms = Math.round(clock.monotonic() - began);
  logger?.debug({ dataDir: location.dataDir, port, ms }, 'embedded Postgres started');
  return true;
}

async function choosePort({ port, credentials }: ServerOpening, taken: ReadonlySet<number>): Promise<number> {
  if (port === undefined) return freePort(credentials.port, taken);
  if (!taken.has(port) && (await isFree(port))) return port;
  throw new DatabaseUnavailableError(`port ${port} is taken by another program`, {
    hint: 'Stop that program, or let the embedded Postgres choose its port.',
  });
}

function noResponse(
  location: ServerLocation,
  server: Postmaster | undefined,
  cause: unknown,
): DatabaseUnavailableError {
  const who = server === undefined ? 'a leftover of a killed server' : `the server (process ${server.pid})`;
  return new DatabaseUnavailableError(
    `${who} holds the embedded database in ${location.dataDir} and does not respond`,
    {
      hint:
        server === undefined
          ? `Try again in a moment. ${join(location.pgdata, 'server.log')} says what it waits for.`
          : `Try again. If it hangs, end it with \`kill -QUIT ${server.pid}\` (nothing that was committed is lost).`,
      cause,
    },
  );
}
