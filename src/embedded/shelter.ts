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
 * Where root keeps what the server's user must reach, when the intended directory or node_modules lie below a
 * directory that is closed to it (root's home, usually). The first that can be had is taken.
 */
export const SHELTERS: readonly string[] = ['/var/lib/toncenter-etl', join(tmpdir(), 'toncenter-etl-root')];

/** Stands for a directory that the server's user cannot enter; two directories never share one. */
export function shelterFor(shelter: string, directory: string): string {
  return join(shelter, createHash('sha256').update(directory).digest('hex').slice(0, 16));
}

/** The first of `shelters` that exists or can be made, belongs to root alone, and lets the server's user in. */
export async function openShelter(shelters: readonly string[], account: Account): Promise<string> {
  const reasons: string[] = [];
  for (const shelter of shelters) {
    const reason = await refusal(shelter, account);
    if (reason === undefined) return shelter;
    reasons.push(`${shelter} ${reason}`);
  }
  throw new DatabaseError(
    `no directory can be entered by the user that Postgres runs as: ${reasons.join('; ')}`,
    {
      hint: 'Set ETL_DATA_DIR to a directory that every user can enter (such as one below /srv or /var/lib).',
    },
  );
}

async function refusal(shelter: string, account: Account): Promise<string | undefined> {
  try {
    await makeMissing(shelter, 0o755);
    if (!(await isTrusted(shelter))) return 'belongs to somebody else';
    await chmod(shelter, 0o755);
    return (await canEnter(account, shelter)) ? undefined : 'is closed to that user';
  } catch (error) {
    return `cannot be created (${codeOf(error) ?? String(error)})`;
  }
}

/**
 * Whether a shelter is root's own and nobody else can write there: below a public directory another user could have
 * put data or binaries in place.
 */
export async function isTrusted(shelter: string): Promise<boolean> {
  if (!(await exists(shelter))) return false;
  const found = await lstat(shelter);
  return found.isDirectory() && found.uid === process.getuid?.() && (found.mode & 0o022) === 0;
}

/**
 * Binaries that `account` can run: those found, or a copy in a shelter that is made once for each directory and
 * version of the package, under its final name only when it is complete.
 */
export async function reachableBinaries(
  binaries: Binaries,
  account: Account | undefined,
  shelters: readonly string[],
): Promise<Binaries> {
  if (account === undefined || (await canRun(binaries, account))) return binaries;
  const shelter = await openShelter(shelters, account);
  const key = `${dirname(binaries.native)}@${await packageVersion(binaries.native)}`;
  const copy = binariesIn(shelterFor(join(shelter, 'binaries'), key), binaries.major);
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
    // Another process was faster; its copy is complete, because it was renamed into place as well.
    const lost = codeOf(error);
    if (lost !== 'ENOTEMPTY' && lost !== 'EEXIST') throw error;
  } finally {
    await rm(making, { recursive: true, force: true });
  }
}

/** A copy made under a strict umask would be closed to the server's user. */
async function openToAll(directory: string): Promise<void> {
  const { status, stderr } = await runCommand('chmod', ['-R', 'a+rX', directory]);
  if (status !== 0)
    throw new DatabaseError(`the Postgres binaries in ${directory} cannot be opened: ${stderr}`);
}
