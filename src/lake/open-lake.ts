import { resolve, dirname, join, relative, sep } from 'node:path';
import { randomUUID } from 'node:crypto';
import { copyFile, link, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { isBucket } from '../settings/config.ts';
import { openEngine } from './engine.ts';
import { tablesIn } from './delta-log.ts';
import { absent, type Lake, PARTIAL, type LakeStore, type Listed } from './lake.ts';
import { s3Store } from './s3-store.ts';
import { codeOf, LakeError, messageOf, UsageError } from '../errors.ts';
import { ifThere, makeFolder } from '../files.ts';

/** Opens the lake at a location, a directory or `s3://bucket/prefix`, runs `work` with it, and closes it. */
export async function withLake<T>(location: string, work: (lake: Lake) => Promise<T>): Promise<T> {
  const isRemote = isBucket(location);
  const engine = await openEngine();
  try {
    const store = isRemote
      ? await s3Store(location, (name) => engine.scratch(name))
      : directoryStore(resolve(location));
    return await work({ store, engine });
  } finally {
    await engine.close();
  }
}

/**
 * Like `withLake`, for work that only reads: the lake must exist.
 * @throws UsageError if it does not, for example because its name is misspelt
 */
export function withExistingLake<T>(location: string, work: (lake: Lake) => Promise<T>): Promise<T> {
  return withLake(location, async (lake) => {
    if ((await tablesIn(lake.store)).length === 0) absent(lake.store.label);
    return work(lake);
  });
}

export function directoryStore(directory: string): LakeStore {
  const at = (name: string) => join(directory, ...name.split('/'));
  /** Writes the complete contents to a partial file first. */
  const beside = async (name: string, make: (path: string) => Promise<void>): Promise<string> => {
    const folder = dirname(at(name));
    await makeFolder(folder);
    const path = join(folder, `${PARTIAL}${randomUUID()}`);
    await make(path);
    return path;
  };
  return {
    label: directory,
    list: (folder) => list(directory, at(folder)),
    folders: () => foldersOf(directory),
    read: (name) => readFile(at(name), 'utf8'),
    async create(name, text) {
      const path = await beside(name, (partial) => writeFile(partial, text, { flush: true }));
      try {
        // Unlike rename, it fails if the file exists.
        await link(path, at(name));
        return true;
      } catch (error) {
        if (codeOf(error) === 'EEXIST') return false;
        throw error;
      } finally {
        await rm(path);
      }
    },
    async put(name, path) {
      await rename(await beside(name, (partial) => copyFile(path, partial)), at(name));
    },
    async fetch(name) {
      const found = await ifThere(stat(at(name))).catch(unreadable);
      return found && { path: at(name), release: () => Promise.resolve() };
    },
    remove: (name) => rm(at(name), { force: true }),
  };
}

async function foldersOf(directory: string): Promise<string[]> {
  const entries = await readdir(directory, { withFileTypes: true }).catch(unlessAbsent);
  return entries.flatMap((entry) => (entry.isDirectory() ? [entry.name] : [])).sort();
}

async function list(directory: string, folder: string): Promise<Listed[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(unlessAbsent);
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const listed = await Promise.all(
    files.map(async (path): Promise<Listed[]> => {
      // Another process may have removed it.
      const found = await ifThere(stat(path)).catch(unreadable);
      const name = relative(directory, path).split(sep).join('/');
      return found === undefined ? [] : [{ name, changedAt: found.mtimeMs / 1000 }];
    }),
  );
  return listed.flat().sort((a, b) => (a.name < b.name ? -1 : 1));
}

function unlessAbsent(error: unknown): never[] {
  const code = codeOf(error);
  if (code === 'ENOENT') return [];
  if (code === 'ENOTDIR')
    throw new UsageError(`${messageOf(error)}: a lake is a directory`, { cause: error });
  return unreadable(error);
}

/** The system's message names the path. */
export function unreadable(cause: unknown): never {
  throw new LakeError(`the lake cannot be read: ${messageOf(cause)}`, {
    hint: 'Let this user read the directory, or name another one.',
    cause,
  });
}
