import { stat } from 'node:fs/promises';
import { codeOf, DatabaseError } from '../errors.ts';
import { runCommand, type Account } from './command.ts';
import { USE_ANOTHER_SERVER } from './failure.ts';

const SERVER_USER = 'postgres';

/** True for root. Postgres refuses to run as root, so root runs it as another user. */
export function isRoot(): boolean {
  return process.getuid?.() === 0;
}

/**
 * The user that root runs the server of `pgdata` as: the owner of its directory, so that a user's data keep their
 * owner. For a new directory it is `postgres`, which is created if it does not exist.
 */
export async function serverAccount(pgdata: string): Promise<Account> {
  const owner = await ownerOf(pgdata);
  return owner === undefined || owner.uid === 0 ? ((await findUser()) ?? (await createUser())) : owner;
}

/** The owner of a file or directory; undefined if it does not exist. */
export async function ownerOf(path: string): Promise<Account | undefined> {
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
  const { status } = await runCommand('/bin/sh', ['-c', 'cd -- "$1"', 'sh', directory], { account });
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
