import { randomBytes } from 'node:crypto';
import { access, chown, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import type { Account } from './command.ts';
import { systemErrorCode } from './failure.ts';

/** Whether there is a file or directory of this name. */
export async function exists(path: string): Promise<boolean> {
  return (await ifThere(access(path).then(() => true))) ?? false;
}

/** The text of a file, undefined where there is none. */
export async function readIfThere(path: string): Promise<string | undefined> {
  return ifThere(readFile(path, 'utf8'));
}

/** The names in a directory; none where there is no directory. */
export async function namesIn(directory: string): Promise<string[]> {
  return (await ifThere(readdir(directory))) ?? [];
}

/** Replaces a file as a whole; the server's user owns it and nobody else can read it. */
export async function writeOwned(path: string, text: string, account: Account | undefined): Promise<void> {
  const making = `${path}.${randomBytes(4).toString('hex')}`;
  await writeFile(making, text, { mode: 0o600, flag: 'wx', flush: true });
  await own(making, account);
  await rename(making, path);
}

/** Gives a file or directory to the server's user. */
export async function own(path: string, account: Account | undefined): Promise<void> {
  if (account !== undefined) await chown(path, account.uid, account.gid);
}

async function ifThere<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading;
  } catch (error) {
    const code = systemErrorCode(error);
    // ESRCH: a file of a process that ended while it was read.
    if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'ESRCH') return undefined;
    throw error;
  }
}
