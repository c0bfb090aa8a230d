import { chmod, mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { DatabaseError } from '../../errors.ts';
import { canEnter, isRoot, ownerOf, serverAccount } from './account.ts';
import type { Account } from './command.ts';
import { exists } from './owned-files.ts';
import { isTrusted, openShelter, shelterFor } from './shelter.ts';

/** Where a server keeps its data, and as whom it runs. */
export interface Place {
  /** The directory asked for, or the one that stands for it. */
  readonly dataDir: string;
  /** The data directory in Postgres' sense, below `dataDir`. */
  readonly pgdata: string;
  /** Undefined: the user of this process. */
  readonly account: Account | undefined;
}

/**
 * Finds where the data of `intended` (absolute) are, or are to be: there, unless root runs this and the server's user
 * cannot enter it; then in a shelter. Data that exist are never left behind for an empty place.
 */
export async function choosePlace(intended: string, shelters: readonly string[]): Promise<Place> {
  if (!isRoot()) return placeOfUser(intended);
  const trusted = await Promise.all(
    shelters.map(async (shelter) => ((await isTrusted(shelter)) ? [shelter] : [])),
  );
  for (const dataDir of [intended, ...trusted.flat().map((shelter) => shelterFor(shelter, intended))]) {
    const pgdata = pgdataOf(dataDir);
    if (await exists(pgdata)) return entered({ dataDir, pgdata, account: await serverAccount(pgdata) });
  }
  const account = await serverAccount(pgdataOf(intended));
  const dataDir = (await makeEnterable(intended, account))
    ? intended
    : await makeSheltered(intended, shelters, account);
  return { dataDir, pgdata: pgdataOf(dataDir), account };
}

function pgdataOf(dataDir: string): string {
  return join(dataDir, 'postgres');
}

async function placeOfUser(dataDir: string): Promise<Place> {
  const pgdata = pgdataOf(dataDir);
  const owner = await ownerOf(pgdata);
  if (owner !== undefined && process.getuid !== undefined && owner.uid !== process.getuid()) {
    throw new DatabaseError(
      `the embedded database in ${dataDir} belongs to another user (uid ${owner.uid})`,
      {
        hint: 'Run it as that user (or as root), or set ETL_DATA_DIR to a directory of your own.',
      },
    );
  }
  await mkdir(dataDir, { recursive: true });
  return { dataDir, pgdata, account: undefined };
}

/** Data that became unreachable (a directory above was closed since) are not replaced by an empty database. */
async function entered(place: Place): Promise<Place> {
  if (place.account === undefined || (await canEnter(place.account, place.pgdata))) return place;
  throw new DatabaseError(
    `the user that Postgres runs as (uid ${place.account.uid}) can no longer enter ${place.pgdata}`,
    {
      hint: `Open the directories above it to that user (chmod a+x), or move ${place.dataDir} and set ETL_DATA_DIR.`,
    },
  );
}

/** Looks at the directories that exist before making any, so that nothing is left where it cannot be used. */
async function makeEnterable(directory: string, account: Account | undefined): Promise<boolean> {
  let existing = directory;
  while (!(await exists(existing))) existing = dirname(existing);
  if (account !== undefined && !(await canEnter(account, existing))) return false;
  const first = await mkdir(directory, { recursive: true, mode: 0o755 });
  // Made under a strict umask it would be closed; one that was there keeps its mode.
  if (first !== undefined) await chmod(directory, 0o755);
  return account === undefined || canEnter(account, directory);
}

async function makeSheltered(
  intended: string,
  shelters: readonly string[],
  account: Account | undefined,
): Promise<string> {
  if (account === undefined) throw new DatabaseError(`${intended} cannot be entered`);
  const dataDir = shelterFor(await openShelter(shelters, account), intended);
  await mkdir(dataDir, { recursive: true, mode: 0o755 });
  await chmod(dataDir, 0o755);
  return dataDir;
}
