import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { constants, open, rename, rm, type FileHandle } from 'node:fs/promises';

/** An operating system user that a program runs as. */
export interface Account {
  readonly uid: number;
  readonly gid: number;
}

interface CommandResult {
  /** The exit code, or why there is none: a signal's name or a system error such as `ENOENT`. */
  readonly status: number | string;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * The environment of Postgres' programs. It contains nothing that changes their language (this program parses their
 * messages), their time zone or their target (`PGDATA`, `PGPORT`).
 */
export const CHILD_ENVIRONMENT = { LC_ALL: 'C', TZ: 'UTC', PATH: '/usr/sbin:/usr/bin:/sbin:/bin' } as const;

/** Runs a program to its end, without a shell, as the user of this process or another one. Every end is a result. */
export async function runCommand(
  file: string,
  args: readonly string[],
  account?: Account,
): Promise<CommandResult> {
  const options = { cwd: '/', env: CHILD_ENVIRONMENT, ...account };
  return new Promise((resolve) => {
    execFile(file, args, options, (error, stdout, stderr) => {
      resolve({ status: error === null ? 0 : (error.code ?? error.signal ?? 'unknown'), stdout, stderr });
    });
  });
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
