import { randomBytes } from 'node:crypto';
import { lchown, lstat, mkdtemp, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Binaries } from './binaries.ts';
import { keepCredentials } from './cluster.ts';
import { runCommand } from './command.ts';
import { embeddedFailure } from './failure.ts';
import { namesIn, writeOwned } from './owned-files.ts';
import type { ServerLocation } from './data-location.ts';
import { usualPort } from './port.ts';
import { SUPERUSER, type ServerSettings } from './server-settings.ts';
import { codeOf } from '../errors.ts';
import { HOUR } from '../range.ts';

interface Creation {
  readonly location: ServerLocation;
  readonly binaries: Binaries;
  readonly settings: ServerSettings;
  readonly signal: AbortSignal | undefined;
}

/** The name begins with a dot: a directory that contains only such names still counts as new. */
const TEMPORARY = '.new-';
const HOUR_MS = 1000 * HOUR;

/**
 * Creates the cluster in a temporary directory and renames it. So a killed process leaves nothing that looks like a
 * cluster, and if two processes create one at the same time, the slower one uses the other's.
 */
export async function createCluster(creation: Creation): Promise<void> {
  const { location } = creation;
  await removeLeftovers(location.dataDir);
  const temporary = await mkdtemp(join(location.dataDir, TEMPORARY));
  try {
    if (location.account !== undefined) await lchown(temporary, location.account.uid, location.account.gid);
    const made: ServerLocation = { ...location, pgdata: join(temporary, 'postgres') };
    const password = randomBytes(18).toString('base64url');
    await initialize(made, password, temporary, creation);
    await keepCredentials(made, { password, port: usualPort(location.dataDir) });
    await rename(made.pgdata, location.pgdata);
  } catch (error) {
    const code = codeOf(error);
    if (code !== 'ENOTEMPTY' && code !== 'EEXIST') throw error;
  } finally {
    // After initdb was killed, its server still writes for a moment.
    await rm(temporary, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
  }
}

async function initialize(
  made: ServerLocation,
  password: string,
  temporary: string,
  creation: Creation,
): Promise<void> {
  const { binaries, settings, signal } = creation;
  const passwordFile = join(temporary, 'password');
  await writeOwned(passwordFile, `${password}\n`, made.account);
  const args = [
    ...[
      '--pgdata',
      made.pgdata,
      '--username',
      SUPERUSER,
      '--pwfile',
      passwordFile,
      '--auth',
      'scram-sha-256',
    ],
    ...['--encoding', 'UTF8', '--locale', 'C', '--no-instructions'],
    ...(settings['fsync'] === 'off' ? ['--no-sync'] : []),
  ];
  const { status, stdout, stderr } = await runCommand(binaries.initdb, args, {
    account: made.account,
    signal,
  });
  if (status === 0) return;
  throw embeddedFailure(
    `cannot create a database in ${made.dataDir}`,
    stderr || stdout || `initdb: ${status}`,
  );
}

/** Removes temporary directories of killed processes. One that is in use is younger. */
async function removeLeftovers(dataDir: string): Promise<void> {
  for (const name of await namesIn(dataDir)) {
    const path = join(dataDir, name);
    if (!name.startsWith(TEMPORARY) || (await lstat(path)).mtimeMs > Date.now() - HOUR_MS) continue;
    await rm(path, { recursive: true, force: true });
  }
}
