import { join } from 'node:path';
import type { Clock } from '../clock.ts';
import { codeOf, DatabaseUnavailableError, EtlError, isAbort } from '../errors.ts';
import type { Logger } from '../logger.ts';
import type { Binaries } from './binaries.ts';
import { keepCredentials, type Credentials } from './cluster.ts';
import { joinServer, type Keeper } from './keeper.ts';
import type { ServerLocation } from './data-location.ts';
import { freePort, isFree } from './port.ts';
import { runningPostmaster, stopPostmaster, type Postmaster } from './postmaster.ts';
import type { ServerSettings } from './server-settings.ts';
import { startServer } from './start.ts';
import { SQLSTATE, SQLSTATE_CLASS, sqlstates } from '../sqlstate.ts';

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

export interface Joined {
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
export async function joinOrStart(opening: ServerOpening): Promise<Joined> {
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
