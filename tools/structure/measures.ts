import { posix } from 'node:path';
import { circlesOf } from './circles.ts';
import { AREAS, areaOf, isProduct, type Tree } from './tree.ts';

/** One number, with what it counts. */
export interface Measure {
  readonly name: string;
  readonly value: number;
  /** The things that are counted, or the largest one. */
  readonly names: readonly string[];
}

/** Everything that is measured of a tree, in the order in which it is printed. */
export function measure(tree: Tree): Measure[] {
  return [
    ...linesOf(tree),
    ...foldersOf(tree),
    ...roomsOf(tree),
    ...deeperRoomsOf(tree),
    counted('file names used twice', repeatedFileNames(tree)),
    { name: 'files that name the setting TONCENTER_RPS', ...filesThatName(tree, 'rps') },
    ...usesOf(tree),
    counted(
      'circles of imports, types included',
      circlesOf(tree).map((files) => files.join(' ↔ ')),
    ),
    counted('type names declared in two files or more', repeatedTypes(tree)),
    ...longestOf(tree),
  ];
}

function counted(name: string, names: readonly string[]): Measure {
  return { name, value: names.length, names };
}

function linesOf({ sources }: Tree): Measure[] {
  const areas = AREAS.flatMap((area): Measure[] => {
    const own = sources.filter(({ path }) => areaOf(path) === area);
    const title = area === 'src' ? 'src without simulator' : area;
    const lines = own.reduce((sum, source) => sum + source.lines, 0);
    return [
      { name: `files, ${title}`, value: own.length, names: [] },
      { name: `lines, ${title}`, value: lines, names: [] },
    ];
  });
  const all = sources.reduce((sum, source) => sum + source.lines, 0);
  const own = sources.filter(({ path }) => areaOf(path) === 'src');
  const rooms = [...grouped(own, ({ path }) => placeIn(path)?.room ?? 'the root')].map(([room, files]) => ({
    name: `lines of ${room}`,
    value: files.reduce((sum, source) => sum + source.lines, 0),
    names: [],
  }));
  return [...areas, ...rooms, { name: 'lines in all', value: all, names: [] }];
}

/** Folders by the files that are directly in them. */
function foldersOf({ sources }: Tree): Measure[] {
  const folders = new Map<string, number>();
  for (const { path } of sources.filter((one) => isProduct(one.path)))
    folders.set(posix.dirname(path), (folders.get(posix.dirname(path)) ?? 0) + 1);
  const sorted = [...folders].sort(([, a], [, b]) => b - a);
  const levels = new Map<number, number>();
  for (const [folder, files] of folders) {
    const level = folder.split('/').length - 1;
    levels.set(level, (levels.get(level) ?? 0) + files);
  }
  return [
    ...[...levels]
      .sort(([a], [b]) => a - b)
      .map(([level, value]) => ({ name: `product files at level ${level}`, value, names: [] })),
    { name: 'files at the root of src', value: folders.get('src') ?? 0, names: [] },
    {
      name: 'most files in a folder',
      value: sorted[0]?.[1] ?? 0,
      names: sorted.slice(0, 1).map(([folder]) => folder),
    },
    counted(
      'folders with more than 15 files',
      sorted.filter(([, files]) => files > 15).map(([folder, files]) => `${folder} ${files}`),
    ),
  ];
}

/** A room is a folder that holds files; an arrow is a pair of rooms, one of which imports the other. */
function roomsOf({ sources }: Tree): Measure[] {
  const product = sources.filter(({ path }) => path.startsWith('src/'));
  const arrows = new Set(
    product.flatMap(({ path, imports }) =>
      imports
        .map((one) => `${posix.dirname(path)} → ${posix.dirname(one.path)}`)
        .filter((arrow) => new Set(arrow.split(' → ')).size === 2),
    ),
  );
  return [
    counted('rooms of src', [...new Set(product.map(({ path }) => posix.dirname(path)))]),
    counted('arrows between rooms', [...arrows].sort()),
  ];
}

/**
 * One level deeper: the folders inside a room of src/, and the files at its root as one more. Counts the
 * pairs that import each other.
 */
function deeperRoomsOf({ sources }: Tree): Measure[] {
  const uses = new Map<string, number>();
  for (const { path, imports } of sources)
    for (const one of imports) {
      const [from, to] = [placeIn(path), placeIn(one.path)];
      if (from === undefined || to === undefined || from.room !== to.room || from.folder === to.folder)
        continue;
      const arrow = `${from.folder} → ${to.folder}`;
      uses.set(arrow, (uses.get(arrow) ?? 0) + 1);
    }
  const bothWays = [...uses].flatMap(([arrow, there]) => {
    const [from = '', to = ''] = arrow.split(' → ');
    const back = uses.get(`${to} → ${from}`);
    return back === undefined || from > to ? [] : [`${from} ↔ ${to} ${there}/${back}`];
  });
  return [counted('folders of one room that import each other', bothWays)];
}

function placeIn(path: string): { readonly room: string; readonly folder: string } | undefined {
  const [, room, inside] = /^src\/([^/]+)\/(?:([^/]+)\/)?/.exec(path) ?? [];
  if (room === undefined || areaOf(path) !== 'src') return undefined;
  return { room, folder: inside === undefined ? room : `${room}/${inside}` };
}

function repeatedFileNames({ sources }: Tree): string[] {
  const paths = sources.map(({ path }) => path).filter((path) => areaOf(path) === 'src');
  const byName = grouped(paths, (path) => posix.basename(path));
  return [...byName].filter(([, all]) => all.length > 1).map(([name, all]) => `${name}: ${all.join(', ')}`);
}

function grouped<T>(things: readonly T[], keyOf: (thing: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const one of things) groups.set(keyOf(one), [...(groups.get(keyOf(one)) ?? []), one]);
  return groups;
}

function filesThatName({ sources }: Tree, word: string): Pick<Measure, 'value' | 'names'> {
  const names = sources.filter(({ path, words }) => areaOf(path) === 'src' && words.has(word));
  return { value: names.length, names: names.map(({ path }) => path) };
}

/** What is read without an import here: the package's exports, and the schema, whose folder is read as a whole. */
const ENTRIES = /^src\/(library|tables)\//;

function usesOf(tree: Tree): Measure[] {
  const product = tree.sources.filter(({ path }) => isProduct(path));
  const importersOf = (path: string) => tree.importersOf(path);
  const exported = product.flatMap(({ path, exports }) =>
    exports.map(({ name, used }) => ({
      title: `${path}:${name}`,
      used,
      users: new Set(
        importersOf(path)
          .filter(({ names }) => names === undefined || names.includes(name))
          .map(({ from }) => from),
      ),
    })),
  );
  const onlyOutside = exported.filter(
    ({ users }) => users.size > 0 && ![...users].some((path) => isProduct(path)),
  );
  const productImporters = (path: string) =>
    new Set(
      importersOf(path)
        .map(({ from }) => from)
        .filter(isProduct),
    );
  return [
    counted(
      'product files with one importer',
      product.filter(({ path }) => productImporters(path).size === 1).map(({ path }) => path),
    ),
    { name: 'exports of the product', value: exported.length, names: [] },
    counted(
      'exports used by one file',
      exported.filter(({ users }) => users.size === 1).map(({ title }) => title),
    ),
    counted(
      'exports imported by tests and tools only',
      onlyOutside.map(({ title }) => title),
    ),
    counted(
      'exports used by tests and tools only',
      onlyOutside.filter(({ used }) => !used).map(({ title }) => title),
    ),
    counted(
      'exports that nothing imports',
      exported
        .filter(({ users, used, title }) => users.size === 0 && !used && !ENTRIES.test(title))
        .map(({ title }) => title),
    ),
  ];
}

function repeatedTypes({ sources }: Tree): string[] {
  const places = new Map<string, Set<string>>();
  for (const { path, types } of sources.filter((one) => isProduct(one.path)))
    for (const type of types) places.set(type, (places.get(type) ?? new Set()).add(path));
  return [...places]
    .filter(([, paths]) => paths.size > 1)
    .sort(([, a], [, b]) => b.size - a.size)
    .map(([type, paths]) => `${type} ${paths.size}×: ${[...paths].join(', ')}`);
}

function longestOf({ sources }: Tree): Measure[] {
  const [product, others] = [true, false].map((inside) =>
    sources.filter(({ path }) => isProduct(path) === inside),
  );
  return [...longestIn('the product', product ?? []), ...longestIn('tests and tools', others ?? [])];
}

function longestIn(title: string, sources: Tree['sources']): Measure[] {
  const functions = sources.flatMap((source) =>
    source.functions.map(({ name, lines }) => ({ name: `${source.path}:${name}`, lines })),
  );
  const files = sources.map(({ path, lines }) => ({ name: path, lines }));
  return [longest(`longest file of ${title}`, files), longest(`longest function of ${title}`, functions)];
}

function longest(
  name: string,
  things: readonly { readonly name: string; readonly lines: number }[],
): Measure {
  const first = things.toSorted((a, b) => b.lines - a.lines)[0] ?? { name: '', lines: 0 };
  return { name, value: first.lines, names: [first.name] };
}
