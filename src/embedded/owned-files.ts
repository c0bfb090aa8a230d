import { randomBytes } from 'node:crypto';
import { access, constants, open, readdir, readFile, rename, rm, type FileHandle } from 'node:fs/promises';
import type { Account } from './command.ts';
import { codeOf } from '../errors.ts';

/** True if there is a file or directory of this name. */
export async function exists(path: string): Promise<boolean> {
  return (await ifThere(access(path).then(() => true))) ?? false;
}

/** The text of a file; undefined if it does not exist. */
export async function readIfThere(path: string): Promise<string | undefined> {
  return ifThere(readFile(path, 'utf8'));
}

/** The names in a directory; none if it does not exist. */
export async function namesIn(directory: string): Promise<string[]> {
  return (await ifThere(readdir(directory))) ?? [];
}

/** Replaces a file atomically. The server's user owns it, and no other user can read it. */
export async function writeOwned(path: string, text: string, account: Account | undefined): Promise<void> {
  const making = `${path}.${randomBytes(4).toString('hex')}`;
  try {
    const file = await openOwned(making, constants.O_EXCL, account);
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(making, path);
  } finally {
    await rm(making, { force: true });
  }
}

/**
 * Opens a file for appending, and creates it if it does not exist. Root writes here into directories of other users.
 * So it follows no link, and changes the owner of the opened file rather than of its name.
 */
export async function openOwned(
  path: string,
  flags: number,
  account: Account | undefined,
): Promise<FileHandle> {
  const { O_WRONLY, O_APPEND, O_CREAT, O_NOFOLLOW } = constants;
  const file = await open(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | flags, 0o600);
  if (account !== undefined) await file.chown(account.uid, account.gid);
  return file;
}

async function ifThere<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading;
  } catch (error) {
    const code = codeOf(error);
    // ESRCH: the file of a process that ended meanwhile.
    if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'ESRCH') return undefined;
    throw error;
  }
}
