import { existsSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as z from 'zod';

/** The directory of package.json: the same from the sources and from the built files. */
export const packageRoot = findRoot(dirname(fileURLToPath(import.meta.url)));

/** The version of this program, from package.json. */
export const version = z
  .object({ version: z.string() })
  .parse(JSON.parse(readFileSync(join(packageRoot, 'package.json'), 'utf8'))).version;

const Journal = z.object({ entries: z.array(z.object({ tag: z.string() })) });

/** The name of the newest migration. `migrations`: how many a database has; omitted for all of this program. */
export async function schemaVersion(migrations?: number): Promise<string> {
  const journal = await readFile(join(packageRoot, 'migrations', 'meta', '_journal.json'), 'utf8');
  return Journal.parse(JSON.parse(journal)).entries.slice(0, migrations).at(-1)?.tag ?? 'none';
}

function findRoot(directory: string): string {
  if (existsSync(join(directory, 'package.json'))) return directory;
  const parent = dirname(directory);
  if (parent === directory) throw new Error('package.json is missing beside the program');
  return findRoot(parent);
}
