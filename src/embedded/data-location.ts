import { access, chmod, constants, stat, cp, lstat, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createHash, randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import { DatabaseError, codeOf } from '../errors.ts';
import { exists, makeMissing, namesIn, readIfThere } from '../files.ts';
import { type Account, runCommand } from './server-account.ts';
import { USE_ANOTHER_SERVER } from './failure.ts';
import { binariesIn, type Binaries } from './binaries.ts';

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

const SERVER_USER = 'postgres';

/** True for root. Postgres refuses to run as root, so root runs it as another user. */
function isRoot(): boolean {
  return process.getuid?.() === 0;
}

/**
 * The user that root runs the server of `pgdata` as: the owner of its directory, so that a user's data keep their
 * owner. For a new directory it is `postgres`, which is created if it does not exist.
 */
async function serverAccount(pgdata: string): Promise<Account> {
  const owner = await ownerOf(pgdata);
  return owner === undefined || owner.uid === 0 ? ((await findUser()) ?? (await createUser())) : owner;
}

/** The owner of a file or directory; undefined if it does not exist. */
async function ownerOf(path: string): Promise<Account | undefined> {
  try {
    const { uid, gid } = await stat(path);
    return { uid, gid };
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** Tries whether a user can enter a directory. Its mode alone does not tell (parents, ACLs, mounts). */
export async function canEnter(account: Account, directory: string): Promise<boolean> {
  const { status } = await runCommand('/bin/sh', ['-c', 'cd -- "$1"', 'sh', directory], account);
  return status === 0;
}

async function findUser(): Promise<Account | undefined> {
  const [uid, gid] = await Promise.all([
    runCommand('id', ['-u', SERVER_USER]),
    runCommand('id', ['-g', SERVER_USER]),
  ]);
  return uid.status === 0 && gid.status === 0
    ? { uid: Number(uid.stdout), gid: Number(gid.stdout) }
    : undefined;
}

async function createUser(): Promise<Account> {
  const args = ['--system', '--user-group', '--no-create-home', '--shell', '/usr/sbin/nologin', SERVER_USER];
  const { stderr } = await runCommand('useradd', args);
  // Looked up even if useradd failed: another process may have created the user at the same moment.
  const account = await findUser();
  if (account !== undefined) return account;
  throw new DatabaseError(
    `Postgres does not run as root, and no user ${SERVER_USER} could be created: ${stderr.trim()}`,
    {
      hint: `Create a system user named ${SERVER_USER}, run it as an ordinary user, or ${USE_ANOTHER_SERVER}.`,
    },
  );
}

/**
 * Fallbacks: directories that root uses if the intended directory or node_modules lie below a directory that the
 * server's user cannot enter (usually root's home). The first usable one is taken.
 */
export const FALLBACK_DIRECTORIES: readonly string[] = [
  '/var/lib/toncenter-etl',
  join(tmpdir(), 'toncenter-etl-root'),
];

/** The directory in a fallback that replaces one that the server's user cannot enter. It is different for each directory. */
function fallbackFor(fallback: string, directory: string): string {
  return join(fallback, createHash('sha256').update(directory).digest('hex').slice(0, 16));
}

/** The first of `fallbacks` that exists or can be created, belongs to root alone, and that the server's user can enter. */
async function openFallback(fallbacks: readonly string[], account: Account): Promise<string> {
  const reasons: string[] = [];
  for (const fallback of fallbacks) {
    const reason = await refusal(fallback, account);
    if (reason === undefined) return fallback;
    reasons.push(`${fallback} ${reason}`);
  }
  throw new DatabaseError(
    `the user that Postgres runs as can enter no directory for its data: ${reasons.join('; ')}`,
    {
      hint: 'Set ETL_DATA_DIR to a directory that every user can enter (such as one below /srv or /var/lib).',
    },
  );
}

async function refusal(fallback: string, account: Account): Promise<string | undefined> {
  try {
    await makeMissing(fallback, 0o755);
    if (!(await isTrusted(fallback))) return 'belongs to another user';
    await chmod(fallback, 0o755);
    return (await canEnter(account, fallback)) ? undefined : 'is closed to that user';
  } catch (error) {
    return `cannot be created (${codeOf(error) ?? String(error)})`;
  }
}

/**
 * True if a fallback belongs to root and no other user can write to it. In a public directory, another user could have
 * put data or binaries there.
 */
async function isTrusted(fallback: string): Promise<boolean> {
  if (!(await exists(fallback))) return false;
  const found = await lstat(fallback);
  return found.isDirectory() && found.uid === process.getuid?.() && (found.mode & 0o022) === 0;
}

/**
 * Binaries that `account` can run: the installed ones, or a copy in a fallback. The copy is made once for each
 * directory and version of the package, and gets its final name when it is complete.
 */
export async function reachableBinaries(
  binaries: Binaries,
  account: Account | undefined,
  fallbacks: readonly string[],
): Promise<Binaries> {
  if (account === undefined || (await canRun(binaries, account))) return binaries;
  const fallback = await openFallback(fallbacks, account);
  const key = `${dirname(binaries.native)}@${await packageVersion(binaries.native)}`;
  const copy = binariesIn(fallbackFor(join(fallback, 'binaries'), key), binaries.major);
  if (!(await canRun(copy, account))) await copyTree(binaries.native, copy.native);
  return copy;
}

async function canRun({ postgres }: Binaries, account: Account): Promise<boolean> {
  const { status } = await runCommand(postgres, ['--version'], account);
  return status === 0;
}

async function packageVersion(native: string): Promise<string> {
  return (await readIfThere(join(native, '..', 'package.json'))) ?? '';
}

async function copyTree(from: string, to: string): Promise<void> {
  const making = `${to}.new-${randomBytes(4).toString('hex')}`;
  try {
    await makeMissing(dirname(to), 0o755);
    await chmod(dirname(to), 0o755);
    await cp(from, making, { recursive: true, verbatimSymlinks: true });
    await openToAll(making);
    await rename(making, to);
  } catch (error) {
    // Another process was faster. Its copy is complete, because it was renamed into place, too.
    const lost = codeOf(error);
    if (lost !== 'ENOTEMPTY' && lost !== 'EEXIST') throw error;
  } finally {
    await rm(making, { recursive: true, force: true });
  }
}

/** With a strict umask, the server's user could not read the copy. */
async function openToAll(directory: string): Promise<void> {
  const { status, stderr } = await runCommand('chmod', ['-R', 'a+rX', directory]);
  if (status !== 0)
    throw new DatabaseError(`the Postgres binaries in ${directory} cannot be opened: ${stderr}`);
}
