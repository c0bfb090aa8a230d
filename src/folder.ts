import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';

/**
 * All modules below a folder of the program, so that there is no list to extend. The build replaces this
 * module by such a list (tools/build.js), because reading folders would take half of a start.
 */
export interface Folder {
  /** Paths of the files without their extensions, in alphabetical order. */
  names(): Promise<readonly string[]>;
  /** All modules, by name. */
  load(): Promise<ReadonlyMap<string, object>>;
  /** A hash of the files' contents, without loading the modules. */
  digest(): Promise<string>;
}

export function openFolder(url: URL): Folder {
  const files = async () => {
    const all = await readdir(url, { recursive: true });
    return all.filter((file) => /\.[jt]s$/.test(file)).sort();
  };
  return {
    names: async () => (await files()).map(nameOf),
    load: async () => new Map(await Promise.all((await files()).map((file) => importFile(url, file)))),
    digest: async () => {
      const texts = await Promise.all((await files()).map((file) => readFile(new URL(file, url), 'utf8')));
      return createHash('sha256').update(texts.join('\n')).digest('hex');
    },
  };
}

const nameOf = (file: string): string => file.replace(/\.[jt]s$/, '');

async function importFile(url: URL, file: string): Promise<[string, object]> {
  const module: unknown = await import(new URL(file, url).href);
  return [nameOf(file), typeof module === 'object' && module !== null ? module : {}];
}
