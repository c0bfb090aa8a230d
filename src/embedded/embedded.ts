import { resolve, join } from 'node:path';
import { randomBytes } from 'node:crypto';
import { lchown, lstat, mkdtemp, rename, rm } from 'node:fs/promises';
import * as z from 'zod';
import { systemClock, type Clock } from '../clock.ts';
import type { Logger } from '../logger.ts';
import { findBinaries, type Binaries } from './binaries.ts';
import { translateFailure, embeddedFailure } from './failure.ts';
import {
  chooseLocation,
  whereDataAre,
  type ServerLocation,
  reachableBinaries,
  FALLBACK_DIRECTORIES,
} from './data-location.ts';
import {
  stopPostmaster,
  runningPostmaster,
  type Postmaster,
  joinServer,
  type Keeper,
  type Start,
  startServer,
} from './keeper.ts';
import { DATABASE, SUPERUSER, type ServerSettings, freePort, usualPort } from './server-settings.ts';
import { codeOf, DatabaseUnavailableError, EtlError, WrongDatabaseError } from '../errors.ts';
import { SQLSTATE, SQLSTATE_CLASS, sqlstates } from '../sqlstate.ts';
import { exists, namesIn, readIfThere } from '../files.ts';
import { writeOwned, runCommand } from './server-account.ts';
import { HOUR } from '../range.ts';

export interface EmbeddedOptions {
  /** Created if it does not exist. Must contain only this database. */
  readonly dataDir: string;
  readonly logger?: Logger;
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

export type EmbeddedServer = ReturnType<typeof handle>;

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
      await createCluster({ location, binaries: await binaries(), settings });
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
    throw translateFailure(error, intended);
  }
}

/** True if an embedded server has data in this directory, or in its fallback. */
export async function hasData(dataDir: string, fallbacks = FALLBACK_DIRECTORIES): Promise<boolean> {
  return (await whereDataAre(resolve(dataDir), fallbacks)) !== undefined;
}

/** An open handle on the embedded server. */
function handle({ dataDir, pgdata }: ServerLocation, { password }: Credentials, { keeper, port }: Joined) {
  let closing: Promise<void> | undefined;
  return {
    /** It stays the same as long as the port is free. */
    url: `postgresql://${SUPERUSER}:${password}@127.0.0.1:${port}/${DATABASE}`,
    port,
    /** The directory of the data (absolute): the one that was asked for, or its fallback. */
    dataDir,
    /** Closes the handle. Closing the last handle of all processes stops the server and waits until it has ended. */
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
  readonly logger?: Logger;
}

type Joined = Pick<Postmaster, 'port'> & { readonly keeper: Keeper };

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
  const { location, clock } = opening;
  const takenPorts = new Set<number>();
  let waitingSince = clock.monotonic();
  let reason: unknown;
  for (;;) {
    const server = await runningPostmaster(location.pgdata);
    if (server === undefined && (await start(opening, takenPorts))) continue;
    if (server?.status === 'starting') waitingSince = clock.monotonic();
    if (server?.status === 'ready') {
      const attempt = await tryToJoin(opening, server);
      if ('keeper' in attempt) return attempt;
      reason = attempt.reason;
    }
    if (clock.monotonic() - waitingSince > TIMEOUT_MS) throw noResponse(location, server, reason);
    await clock.sleep(PAUSE_MS);
  }
}

async function tryToJoin(
  opening: ServerOpening,
  { port }: Postmaster,
): Promise<Joined | { reason: unknown }> {
  const { location, credentials, logger } = opening;
  try {
    const keeper = await joinServer({ port, password: credentials.password, pgdata: location.pgdata });
    logger?.debug({ dataDir: location.dataDir, port }, 'embedded Postgres joined');
    return { keeper, port };
  } catch (error) {
    // The driver sets no code for a connection that was cut or timed out.
    const code = codeOf(error);
    const isPassing = code === undefined || PASSING.test(code) || PASSING_SYSTEM.test(code);
    if (error instanceof EtlError || !isPassing) throw error;
    return { reason: error };
  }
}

/** Tries once to start the server. Returns true when it is ready; after a temporary failure, the next check decides. */
async function start(opening: ServerOpening, takenPorts: Set<number>): Promise<boolean> {
  const { location, credentials, settings, logger, clock } = opening;
  const port = await freePort(credentials.port, takenPorts);
  const began = clock.monotonic();
  const result = await startServer({ location, settings, port, binaries: await opening.binaries() });
  if (result === 'port-taken') takenPorts.add(port);
  if (result !== 'ready') return false;
  if (port !== credentials.port) await keepCredentials(location, { ...credentials, port });
  const ms = Math.round(clock.monotonic() - began);
  logger?.debug({ dataDir: location.dataDir, port, ms }, 'embedded Postgres started');
  return true;
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

/** The name begins with a dot: a directory that contains only such names still counts as new. */
const TEMPORARY = '.new-';
const HOUR_MS = 1000 * HOUR;

/**
 * Creates the cluster in a temporary directory and renames it. So a killed process leaves nothing that looks like a
 * cluster, and if two processes create one at the same time, the slower one uses the other's.
 */
async function createCluster({ location, binaries, settings }: Omit<Start, 'port'>): Promise<void> {
  await removeLeftovers(location.dataDir);
  const temporary = await mkdtemp(join(location.dataDir, TEMPORARY));
  try {
    if (location.account !== undefined) await lchown(temporary, location.account.uid, location.account.gid);
    const made: ServerLocation = { ...location, pgdata: join(temporary, 'postgres') };
    const password = randomBytes(18).toString('base64url');
    const passwordFile = join(temporary, 'password');
    await writeOwned(passwordFile, `${password}\n`, made.account);
    await initialize({ location: made, binaries, settings }, passwordFile);
    await keepCredentials(made, { password, port: usualPort(location.dataDir) });
    await rename(made.pgdata, location.pgdata);
  } catch (error) {
    const code = codeOf(error);
    if (code !== 'ENOTEMPTY' && code !== 'EEXIST') throw error;
  } finally {
    // After initdb was killed, its server still writes for a moment.
    await rm(temporary, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
  }
}

async function initialize(
  { location: { pgdata, dataDir, account }, binaries, settings }: Omit<Start, 'port'>,
  passwordFile: string,
): Promise<void> {
  const args = [
    ...[`--pgdata=${pgdata}`, `--username=${SUPERUSER}`, `--pwfile=${passwordFile}`, '--auth=scram-sha-256'],
    ...['--encoding=UTF8', '--locale=C', '--no-instructions'],
    ...(settings['fsync'] === 'off' ? ['--no-sync'] : []),
  ];
  const { status, stdout, stderr } = await runCommand(binaries.initdb, args, account);
  if (status === 0) return;
  throw embeddedFailure(`cannot create a database in ${dataDir}`, stderr || stdout || `initdb: ${status}`);
}

/** Removes temporary directories of killed processes. One that is in use is younger. */
async function removeLeftovers(dataDir: string): Promise<void> {
  for (const name of await namesIn(dataDir)) {
    const path = join(dataDir, name);
    if (!name.startsWith(TEMPORARY) || (await lstat(path)).mtimeMs > Date.now() - HOUR_MS) continue;
    await rm(path, { recursive: true, force: true });
  }
}

/**
 * Marks a data directory as this program's, and stores the password and port, so that connection strings stay valid.
 * Mode 0600.
 */
const MARKER = 'toncenter-etl.json';
const credentialsShape = z.object({ password: z.string().min(1), port: z.number().int().min(1).max(65_535) });
type Credentials = z.infer<typeof credentialsShape>;

/**
 * The password and port of the cluster in `location`; `create` makes the cluster if there is none.
 * @throws WrongDatabaseError for a directory of another program, or of another major version than `major`
 */
async function openCluster(
  location: ServerLocation,
  major: string,
  create: () => Promise<void>,
): Promise<Credentials> {
  const found = await readCluster(location, major);
  if (found !== undefined) return found;
  await refuseForeign(location.dataDir);
  await create();
  const made = await readCluster(location, major);
  if (made !== undefined) return made;
  throw new WrongDatabaseError(`the database in ${location.dataDir} was removed while it was created`);
}

/** Writes the marker with the password and the port, which the next start tries first. */
async function keepCredentials({ pgdata, account }: ServerLocation, credentials: Credentials): Promise<void> {
  await writeOwned(join(pgdata, MARKER), `${JSON.stringify(credentials)}\n`, account);
}

async function readCluster(
  { dataDir, pgdata }: ServerLocation,
  major: string,
): Promise<Credentials | undefined> {
  if ((await namesIn(pgdata)).length === 0) return undefined;
  const version = (await readIfThere(join(pgdata, 'PG_VERSION')))?.trim();
  const marker = await readIfThere(join(pgdata, MARKER));
  if (version === undefined || marker === undefined) throw notOurs(pgdata);
  if (version !== major) throw otherVersion(dataDir, pgdata, version, major);
  try {
    return credentialsShape.parse(JSON.parse(marker));
  } catch (error) {
    throw new WrongDatabaseError(`${join(pgdata, MARKER)} cannot be read`, {
      hint: 'Restore it from a backup: it holds {"password": …, "port": …} of this database.',
      cause: error,
    });
  }
}

/** Refuses a directory with other files. Data directories of this program, such as the demo's, are allowed. */
async function refuseForeign(dataDir: string): Promise<void> {
  for (const name of await visibleIn(dataDir))
    if (name !== 'postgres' && !(await isDataDirectory(join(dataDir, name)))) throw notOurs(dataDir);
}

async function isDataDirectory(directory: string): Promise<boolean> {
  const names = await visibleIn(directory);
  return names.length === 1 && names[0] === 'postgres' && (await exists(join(directory, 'postgres', MARKER)));
}

async function visibleIn(directory: string): Promise<string[]> {
  return (await namesIn(directory)).filter((name) => !name.startsWith('.') && name !== 'lost+found');
}

function notOurs(directory: string): WrongDatabaseError {
  return new WrongDatabaseError(`${directory} holds files that this program did not create`, {
    hint: 'Set ETL_DATA_DIR to a new directory, or DATABASE_URL to the server that owns this one.',
  });
}

function otherVersion(dataDir: string, pgdata: string, found: string, wanted: string): WrongDatabaseError {
  return new WrongDatabaseError(
    `the database in ${dataDir} was made by Postgres ${found}, the installed one is Postgres ${wanted}`,
    {
      hint:
        `Install the release of this program that brings Postgres ${found}; or run a Postgres ${found} on ${pgdata} ` +
        `and set DATABASE_URL to it; or move ${dataDir} away to start with a new database.`,
    },
  );
}
