import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { nearestName } from '../nearest.ts';

/** What the environment and `.env` of a directory say; the environment wins. An empty value is none. */
export function readValues(environment: NodeJS.ProcessEnv, directory: string): NodeJS.Dict<string> {
  const path = join(directory, '.env');
  const file = existsSync(path) ? parseEnv(readFileSync(path, 'utf8')) : {};
  return Object.fromEntries(
    Object.entries({ ...file, ...environment }).filter(([, value]) => value !== undefined && value !== ''),
  );
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
