import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { readSource, type Import, type Source } from './read-source.ts';

/** Parts of the repository whose lines are counted separately. */
export const AREAS = ['src', 'simulator', 'jobs', 'test', 'tools'] as const;
export type Area = (typeof AREAS)[number];

/** The files of one revision. */
export interface Tree {
  readonly sources: readonly Source[];
  /** Files that import a path, with the names that they import. */
  importersOf(path: string): readonly { readonly from: string; readonly names: Import['names'] }[];
}

const FOLDERS = ['src', 'jobs', 'test', 'tools'];

/** Reads the TypeScript files in folders below `root`. */
export function readTree(root: string, folders: readonly string[] = FOLDERS): Tree {
  const sources = folders
    .flatMap((folder) => filesOf(root, folder))
    .map((path) => readSource(path, readFileSync(join(root, path), 'utf8')));
  return treeOf(sources);
}

/** A tree of sources that were read already. */
export function treeOf(sources: readonly Source[]): Tree {
  const importers = new Map<string, { from: string; names: Import['names'] }[]>();
  for (const { path, imports } of sources) {
    for (const one of imports) {
      const list = importers.get(one.path) ?? [];
      importers.set(one.path, [...list, { from: path, names: one.names }]);
    }
  }
  return { sources, importersOf: (path) => importers.get(path) ?? [] };
}

function filesOf(root: string, folder: string): string[] {
  try {
    return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
      .map((entry) => relative(root, join(entry.parentPath, entry.name)).replaceAll(sep, '/'))
      .sort();
  } catch {
    // An older revision may lack the folder.
    return [];
  }
}

export function areaOf(path: string): Area {
  if (path.startsWith('src/simulator/')) return 'simulator';
  return AREAS.find((area) => path.startsWith(`${area}/`)) ?? 'src';
}

/** True for what is shipped: neither tests nor the project's own programs. */
export function isProduct(path: string): boolean {
  return !['test', 'tools'].includes(areaOf(path));
}
