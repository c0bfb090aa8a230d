import { randomBytes } from 'node:crypto';
import { lchown, lstat, mkdtemp, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Binaries } from './binaries.ts';
import { keepCredentials } from './cluster.ts';
import { runCommand } from './command.ts';
import { embeddedFailure } from './failure.ts';
import { namesIn, writeOwned } from './owned-files.ts';
import type { ServerPlace } from './data-place.ts';
import { usualPort } from './port.ts';
import { SUPERUSER, type ServerSettings } from './server-settings.ts';
import { codeOf } from '../errors.ts';
import { HOUR } from '../range.ts';

interface Creation {
  readonly place: ServerPlace;
  readonly binaries: Binaries;
  readonly settings: ServerSettings;
  readonly signal: AbortSignal | undefined;
}

/** Begins with a dot, so that a directory which holds only these is still a new one. */
const NURSERY = '.new-';
const HOUR_MS = 1000 * HOUR;

/**
 * Makes the cluster beside its place and renames it there: a process that is killed leaves nothing that looks like a
 * cluster, and of two that do it at once the slower one finds the other's.
 */
export async function createCluster(creation: Creation): Promise<void> {
  const { place } = creation;
  await removeLeftovers(place.dataDir);
  const nursery = await mkdtemp(join(place.dataDir, NURSERY));
  try {
    if (place.account !== undefined) await lchown(nursery, place.account.uid, place.account.gid);
    const made: ServerPlace = { ...place, pgdata: join(nursery, 'postgres') };
    const password = randomBytes(18).toString('base64url');
    await initialize(made, password, nursery, creation);
    await keepCredentials(made, { password, port: usualPort(place.dataDir) });
    await rename(made.pgdata, place.pgdata);
  } catch (error) {
    const code = codeOf(error);
    if (code !== 'ENOTEMPTY' && code !== 'EEXIST') throw error;
  } finally {
    // An initdb that was ended leaves a server behind for a moment, which still writes.
    await rm(nursery, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
  }
}

async function initialize(
  made: ServerPlace,
  password: string,
  nursery: string,
  creation: Creation,
): Promise<void> {
  const { binaries, settings, signal } = creation;
  const passwordFile = join(nursery, 'password');
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
    `no database can be created in ${made.dataDir}`,
    stderr || stdout || `initdb: ${status}`,
  );
}

/** Removes what processes that were killed here left behind; a nursery in use is younger. */
async function removeLeftovers(dataDir: string): Promise<void> {
  for (const name of await namesIn(dataDir)) {
    const path = join(dataDir, name);
    if (!name.startsWith(NURSERY) || (await lstat(path)).mtimeMs > Date.now() - HOUR_MS) continue;
    await rm(path, { recursive: true, force: true });
  }
}
