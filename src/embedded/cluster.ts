import { join } from 'node:path';
import { randomBytes } from 'node:crypto';
import { lchown, lstat, mkdtemp, rename, rm } from 'node:fs/promises';
import * as z from 'zod';
import { WrongDatabaseError, codeOf } from '../errors.ts';
import { exists, namesIn, readIfThere, writeOwned } from './owned-files.ts';
import type { ServerLocation } from './data-location.ts';
import type { Binaries } from './binaries.ts';
import { runCommand } from './command.ts';
import { embeddedFailure } from './failure.ts';
import { usualPort, SUPERUSER, type ServerSettings } from './server-settings.ts';
import { HOUR } from '../range.ts';

interface Creation {
  readonly location: ServerLocation;
  readonly binaries: Binaries;
  readonly settings: ServerSettings;
  readonly signal: AbortSignal | undefined;
}

/** The name begins with a dot: a directory that contains only such names still counts as new. */
const TEMPORARY = '.new-';
const HOUR_MS = 1000 * HOUR;

/**
 * Creates the cluster in a temporary directory and renames it. So a killed process leaves nothing that looks like a
 * cluster, and if two processes create one at the same time, the slower one uses the other's.
 */
export async function createCluster(creation: Creation): Promise<void> {
  const { location } = creation;
  await removeLeftovers(location.dataDir);
  const temporary = await mkdtemp(join(location.dataDir, TEMPORARY));
  try {
    if (location.account !== undefined) await lchown(temporary, location.account.uid, location.account.gid);
    const made: ServerLocation = { ...location, pgdata: join(temporary, 'postgres') };
    const password = randomBytes(18).toString('base64url');
    await initialize(made, password, temporary, creation);
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
  made: ServerLocation,
  password: string,
  temporary: string,
  creation: Creation,
): Promise<void> {
  const { binaries, settings, signal } = creation;
  const passwordFile = join(temporary, 'password');
  await writeOwned(passwordFile, `${password}\n`, made.account);
  const args = [
    ...[
      '--pgdata',
      made.pgdata,
      '--username',
      SUPERUSER,
      '--pwfile',
      passwordFile,
      '--auth',
      'scram-sha-256',
    ],
    ...['--encoding', 'UTF8', '--locale', 'C', '--no-instructions'],
    ...(settings['fsync'] === 'off' ? ['--no-sync'] : []),
  ];
  const { status, stdout, stderr } = await runCommand(binaries.initdb, args, {
    account: made.account,
    signal,
  });
  if (status === 0) return;
  throw embeddedFailure(
    `cannot create a database in ${made.dataDir}`,
    stderr || stdout || `initdb: ${status}`,
  );
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
export type Credentials = z.infer<typeof credentialsShape>;

/**
 * The password and port of the cluster in `location`; `create` makes the cluster if there is none.
 * @throws WrongDatabaseError for a directory of another program, or of another major version than `major`
 */
export async function openCluster(
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
export async function keepCredentials(
  { pgdata, account }: ServerLocation,
  credentials: Credentials,
): Promise<void> {
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
