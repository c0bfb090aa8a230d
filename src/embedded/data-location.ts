import { access, chmod, constants, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { DatabaseError } from '../errors.ts';
import { makeMissing } from '../make-folder.ts';
import { canEnter, isRoot, ownerOf, serverAccount } from './account.ts';
import type { Account } from './command.ts';
import { exists, namesIn } from './owned-files.ts';
import { isTrusted, openFallback, fallbackFor } from './fallback-directory.ts';

/** The data directory of a server, and the user that runs it. */
export interface ServerLocation {
  /** The directory that was asked for, or its fallback. */
  readonly dataDir: string;
  /** The data directory in Postgres' sense, below `dataDir`. */
  readonly pgdata: string;
  /** Undefined: the user of this process. */
  readonly account: Account | undefined;
}

/**
 * Finds or chooses the directory for the data of `intended` (absolute). It is `intended` itself, unless root runs this and
 * the server's user cannot enter it; then it is a fallback. Existing data are never left for an empty directory.
 */
export async function chooseLocation(
  intended: string,
  fallbacks: readonly string[],
): Promise<ServerLocation> {
  if (!isRoot()) return locationOfUser(intended);
  const found = await whereDataAre(intended, fallbacks);
  if (found !== undefined) return entered(found, await serverAccount(pgdataOf(found)));
  const account = await serverAccount(pgdataOf(intended));
  const dataDir = (await makeEnterable(intended, account))
    ? intended
    : await makeInFallback(intended, fallbacks, account);
  return { dataDir, pgdata: pgdataOf(dataDir), account };
}

/** The directory that has the data of `intended` (absolute); undefined if there are none yet. */
export async function whereDataAre(
  intended: string,
  fallbacks: readonly string[],
): Promise<string | undefined> {
  const trusted = await Promise.all(
    (isRoot() ? fallbacks : []).map(async (fallback) => ((await isTrusted(fallback)) ? [fallback] : [])),
  );
  for (const dataDir of [intended, ...trusted.flat().map((fallback) => fallbackFor(fallback, intended))])
    if (await exists(pgdataOf(dataDir))) return dataDir;
  return undefined;
}

function pgdataOf(dataDir: string): string {
  return join(dataDir, 'postgres');
}

async function locationOfUser(dataDir: string): Promise<ServerLocation> {
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
  if (!(await exists(dataDir))) await makeDirectory(dataDir);
  return { dataDir, pgdata, account: undefined };
}

/** Fails if existing data became unreachable (the mode of a parent changed), instead of creating an empty database. */
async function entered(dataDir: string, account: Account): Promise<ServerLocation> {
  const pgdata = pgdataOf(dataDir);
  if (await canEnter(account, pgdata)) return { dataDir, pgdata, account };
  throw new DatabaseError(
    `the user that Postgres runs as (uid ${account.uid}) can no longer enter ${pgdata}`,
    {
      hint: `Open the directories above it to that user (chmod a+x), or move ${dataDir} and set ETL_DATA_DIR.`,
    },
  );
}

/** Checks what exists before creating anything, so that no directory is left that cannot be used. */
async function makeEnterable(directory: string, account: Account): Promise<boolean> {
  const existing = await deepestExisting(directory);
  // An empty directory was created for this database (a mounted volume, for example): it is opened to the server's
  // user.
  const ours = existing === directory && (await namesIn(directory)).length === 0;
  if (!(await canEnter(account, ours ? dirname(directory) : existing))) return false;
  if (ours) await chmod(directory, (await stat(directory)).mode | 0o011);
  else if (existing !== directory) await makeDirectory(directory);
  return true;
}

async function makeInFallback(
  intended: string,
  fallbacks: readonly string[],
  account: Account,
): Promise<string> {
  const dataDir = fallbackFor(await openFallback(fallbacks, account), intended);
  await makeDirectory(dataDir);
  return dataDir;
}

/** Each directory that is created can be passed by the server's user, whatever the umask. Existing ones do not change. */
async function makeDirectory(directory: string): Promise<void> {
  // mkdir reports a read-only file system as a missing directory.
  await access(await deepestExisting(directory), constants.W_OK);
  const made = await makeMissing(directory);
  if (isRoot()) for (const folder of made) await chmod(folder, 0o711);
}

async function deepestExisting(directory: string): Promise<string> {
  return (await exists(directory)) ? directory : deepestExisting(dirname(directory));
}
