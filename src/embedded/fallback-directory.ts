import { createHash, randomBytes } from 'node:crypto';
import { chmod, cp, lstat, readFile, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { codeOf, DatabaseError } from '../errors.ts';
import { makeMissing } from '../make-folder.ts';
import { canEnter } from './account.ts';
import { binariesIn, type Binaries } from './binaries.ts';
import { runCommand, type Account } from './command.ts';
import { exists } from './owned-files.ts';

/**
 * Fallbacks: directories that root uses if the intended directory or node_modules lie below a directory that the
 * server's user cannot enter (usually root's home). The first usable one is taken.
 */
export const FALLBACK_DIRECTORIES: readonly string[] = [
  '/var/lib/toncenter-etl',
  join(tmpdir(), 'toncenter-etl-root'),
];

/** The directory in a fallback that replaces one that the server's user cannot enter. It is different for each directory. */
export function fallbackFor(fallback: string, directory: string): string {
  return join(fallback, createHash('sha256').update(directory).digest('hex').slice(0, 16));
}

/** The first of `fallbacks` that exists or can be created, belongs to root alone, and that the server's user can enter. */
export async function openFallback(fallbacks: readonly string[], account: Account): Promise<string> {
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
export async function isTrusted(fallback: string): Promise<boolean> {
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
  const { status } = await runCommand(postgres, ['--version'], { account });
  return status === 0;
}

async function packageVersion(native: string): Promise<string> {
  return readFile(join(native, '..', 'package.json'), 'utf8').catch(() => '');
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
