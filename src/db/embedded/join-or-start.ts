import type { Clock } from '../../clock.ts';
import { DatabaseUnavailableError, EtlError } from '../../errors.ts';
import type { Logger } from '../../logger.ts';
import type { Binaries } from './binaries.ts';
import { keepCredentials, type Credentials } from './cluster.ts';
import { systemErrorCode } from './failure.ts';
import { joinServer, type Keeper } from './keeper.ts';
import type { Place } from './place.ts';
import { freePort, isFree } from './port.ts';
import { lifeOf, readPostmaster, type Postmaster } from './postmaster.ts';
import type { ServerSettings } from './settings.ts';
import { startServer } from './start.ts';

export interface Opening {
  readonly place: Place;
  /** Asked only where a server must be started: root may have to copy them first. */
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
  readonly server: Postmaster;
}

/** How long a server may take to answer, or a dead one to leave its shared memory; recovery is not counted. */
const PATIENCE_MS = 20_000;
const PAUSE_MS = 20;

/** SQLSTATEs and system errors of a server that is about to be ready, about to end, or full for the moment. */
const PASSING = /^(57P0[1-5]|53300|08...|ECONN.*|EPIPE|ETIMEDOUT)$/;

/**
 * Looks, joins or starts, and looks again until it has a claim on a server. Nothing is locked: Postgres itself lets
 * only one server into a directory, so whoever starts second finds the first one's and joins it.
 */
export async function joinOrStart(opening: Opening): Promise<Joined> {
  const { place, clock, signal, logger } = opening;
  const takenPorts = new Set<number>();
  let waitingSince = clock.monotonic();
  let reason: unknown;
  for (;;) {
    signal?.throwIfAborted();
    const server = await runningServer(place.pgdata);
    if (server === undefined) await start(opening, takenPorts);
    else if (server.status === 'starting') waitingSince = clock.monotonic();
    else if (server.status === 'ready') {
      const attempt = await tryToJoin(opening, server);
      if ('keeper' in attempt) {
        logger?.debug({ dataDir: place.dataDir, port: server.port }, 'embedded Postgres joined');
        return attempt;
      }
      reason = attempt.reason;
    }
    if (clock.monotonic() - waitingSince > PATIENCE_MS) throw noAnswer(place, server, reason);
    await clock.sleep(PAUSE_MS, signal);
  }
}

async function runningServer(pgdata: string): Promise<Postmaster | undefined> {
  const server = await readPostmaster(pgdata);
  return server !== undefined && (await lifeOf(server.pid, pgdata)) === 'alive' ? server : undefined;
}

async function tryToJoin(
  { place, credentials }: Opening,
  server: Postmaster,
): Promise<Joined | { reason: unknown }> {
  try {
    const keeper = await joinServer({
      port: server.port,
      password: credentials.password,
      pgdata: place.pgdata,
    });
    return { keeper, server };
  } catch (error) {
    const code = systemErrorCode(error);
    // The driver gives a connection that was cut or timed out no code.
    if (error instanceof EtlError || (code !== undefined && !PASSING.test(code))) throw error;
    return { reason: error };
  }
}

/** One attempt; where it fails in passing, the next look at the directory tells what to do. */
async function start(opening: Opening, takenPorts: Set<number>): Promise<void> {
  const { place, credentials, settings, signal, logger, clock } = opening;
  const port = await choosePort(opening, takenPorts);
  const began = clock.monotonic();
  const result = await startServer({ place, settings, port, signal, binaries: await opening.binaries() });
  if (result === 'port-taken') takenPorts.add(port);
  if (result !== 'ready') return;
  if (port !== credentials.port) await keepCredentials(place, { ...credentials, port });
  const ms = Math.round(clock.monotonic() - began);
  logger?.info({ dataDir: place.dataDir, port, ms }, 'embedded Postgres started');
}

async function choosePort({ port, credentials }: Opening, taken: ReadonlySet<number>): Promise<number> {
  if (port === undefined) return freePort(credentials.port, taken);
  if (!taken.has(port) && (await isFree(port))) return port;
  throw new DatabaseUnavailableError(`port ${port} is taken by another program`, {
    hint: 'Stop that program, or let the embedded Postgres choose its port.',
  });
}

function noAnswer(
  { dataDir }: Place,
  server: Postmaster | undefined,
  cause: unknown,
): DatabaseUnavailableError {
  const who = server === undefined ? 'a server that was killed' : `the server (process ${server.pid})`;
  return new DatabaseUnavailableError(
    `${who} holds the embedded database in ${dataDir} and does not answer`,
    {
      hint:
        server === undefined
          ? 'Processes of it are still ending: try again in a moment.'
          : `Try again; if it hangs, end it with \`kill -QUIT ${server.pid}\` (nothing that was committed is lost).`,
      cause,
    },
  );
}
