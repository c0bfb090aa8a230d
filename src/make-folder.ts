import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { codeOf, messageOf, UsageError } from './errors.ts';

/**
 * Makes a directory and those above it that are not there, one after the other: Node's own way never ends below /proc.
 * @throws UsageError where it cannot be made, or something else has its name
 */
export async function makeFolder(path: string): Promise<void> {
  const found = await stat(path).catch(() => undefined);
  if (found?.isDirectory() === true) return;
  if (found === undefined && dirname(path) !== path) await makeFolder(dirname(path));
  await mkdir(path).catch((error: unknown) => {
    // Another process may have made it meanwhile.
    if (codeOf(error) === 'EEXIST' && found === undefined) return;
    throw new UsageError(`${path} cannot be made a directory: ${messageOf(error)}`, {
      hint: 'Give another place.',
      cause: error,
    });
  });
}
