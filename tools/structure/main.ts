import { parseArgs } from 'node:util';
import { withRevision } from './extract-revision.ts';
import { measure, type Measure } from './measures.ts';
import { roomsDiagram } from './rooms-diagram.ts';
import { readTree } from './tree.ts';
import { measureWalks } from './walks.ts';

/*
 * `npm run structure [-- --base REVISION] [--names] [--walks]`: measures how the source is laid out. With a base, two
 * columns: before and after. `--names` prints what was counted. `--walks` runs the program, too, and counts the files that
 * a page and `sync` pass. `--diagram` prints the rooms for docs/architecture.md instead.
 */

const { values } = parseArgs({
  options: {
    base: { type: 'string' },
    diagram: { type: 'boolean' },
    names: { type: 'boolean' },
    walks: { type: 'boolean' },
  },
});
const root = process.cwd();
const tree = readTree(root);
const after = [...measure(tree), ...(values.walks === true ? await measureWalks(root, tree, {}) : [])];
const before =
  values.base === undefined
    ? undefined
    : withRevision(root, values.base, (directory) => measure(readTree(directory)));

if (values.diagram === true) console.log(roomsDiagram(tree));
else printMeasures();

function printMeasures(): void {
  if (before !== undefined) console.log(`${''.padEnd(48)}${'before'.padStart(8)}${'after'.padStart(8)}`);
  for (const name of new Set([...(before ?? []), ...after].map((one) => one.name))) print(name);
}

function print(name: string): void {
  const [old, now] = [find(before, name), find(after, name)];
  const columns = [...(before === undefined ? [] : [old]), now];
  const largest = name.startsWith('longest') || name.startsWith('most');
  const which = largest ? columns.flatMap((one) => one?.names ?? []).join(' → ') : '';
  const numbers = columns.map((one) => String(one?.value ?? 0).padStart(8)).join('');
  console.log(`${name.padEnd(48)}${numbers}  ${which}`.trimEnd());
  if (values.names === true && !largest) for (const one of now?.names ?? []) console.log(`    ${one}`);
}

function find(list: readonly Measure[] | undefined, name: string): Measure | undefined {
  return list?.find((one) => one.name === name);
}
