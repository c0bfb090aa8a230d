import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { codeOf, messageOf, UsageError } from './errors.ts';

/**
 * Creates a directory and its missing parents one by one. Node's own recursive mode never ends below /proc.
 * @returns the created directories, the outermost first
 * @throws the system's error
 */
export async function makeMissing(path: string, mode?: number): Promise<string[]> {
  const found = await stat(path).catch(() => undefined);
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
