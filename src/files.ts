import { access, mkdir, readdir, readFile, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { codeOf, messageOf, UsageError } from './errors.ts';

/**
 * Creates a directory and its missing parents one by one. Node's own recursive mode never ends below /proc.
 * @returns the created directories, the outermost first
 * @throws the system's error
 */
export async function makeMissing(path: string, mode?: number): Promise<string[]> {
  const found = await ifThere(stat(path));
  if (found?.isDirectory() === true) return [];
  const above = found === undefined && dirname(path) !== path ? await makeMissing(dirname(path), mode) : [];
  try {
    await mkdir(path, mode);
    return [...above, path];
  } catch (error) {
    // Another process may have created it meanwhile.
    if (codeOf(error) === 'EEXIST' && found === undefined) return above;
    throw error;
  }
}

/** @throws UsageError if it cannot be created, or if its name is taken */
export async function makeFolder(path: string): Promise<void> {
  await makeMissing(path).catch((error: unknown) => {
    throw new UsageError(`the directory ${path} cannot be created: ${messageOf(error)}`, {
      hint: 'Choose another directory.',
      cause: error,
    });
  });
}

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

/**
 * What reading a file or directory gives; undefined if it does not exist. Any other error is thrown: what must not be
 * read may be there.
 */
export async function ifThere<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading;
  } catch (error) {
    const code = codeOf(error);
    // ESRCH: the file of a process that ended meanwhile.
    if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'ESRCH') return undefined;
    throw error;
  }
}
