import { join } from 'node:path';
import * as z from 'zod';
import { WrongDatabaseError } from '../errors.ts';
import { exists, namesIn, readIfThere, writeOwned } from './owned-files.ts';
import type { ServerLocation } from './data-location.ts';

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
