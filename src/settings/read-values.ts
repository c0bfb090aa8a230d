import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { messageOf, UsageError } from '../errors.ts';
import { nearestName } from '../nearest.ts';

/**
 * What the environment and `.env` of a directory say; the environment wins. An empty value is none.
 * @throws UsageError where there is a `.env` that cannot be read
 */
export function readValues(environment: NodeJS.ProcessEnv, directory: string): NodeJS.Dict<string> {
  const path = join(directory, '.env');
  const file = existsSync(path) ? parseEnv(readText(path)) : {};
  return Object.fromEntries(
    Object.entries({ ...file, ...environment }).filter(([, value]) => value !== undefined && value !== ''),
  );
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new UsageError(`the settings in ${path} cannot be read: ${messageOf(error)}`, {
      hint: 'Make it a file that this user may read, or start the program in another directory.',
    });
  }
}

/** @throws UsageError where the directory that the process was started in is gone */
export function workingDirectory(): string {
  try {
    return process.cwd();
  } catch (error) {
    throw new UsageError(`the working directory is gone: ${messageOf(error)}`, {
      hint: 'Start the program in a directory that exists.',
    });
  }
}

/** A name that looks like a setting's, and the setting that is probably meant, if any. */
export interface UnknownSetting {
  readonly name: string;
  readonly nearest: string | undefined;
}

/** Names that begin as this program's settings do, and are none of them. */
export function findUnknown(values: NodeJS.Dict<string>, known: readonly string[]): UnknownSetting[] {
  return Object.keys(values)
    .filter((name) => /^(etl|toncenter)_/i.test(name) && !known.includes(name))
    .sort()
    .map((name) => ({ name, nearest: nearestName(name.toUpperCase(), known) }));
}
