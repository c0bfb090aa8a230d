import { expect, test } from 'vitest';
import { circlesOf } from '../../tools/structure/circles.ts';
import { measure } from '../../tools/structure/measures.ts';
import { readSource } from '../../tools/structure/read-source.ts';
import { treeOf } from '../../tools/structure/tree.ts';

const files = {
  'src/a.ts': `import type { B } from './room/b.ts';\nexport interface A { b: B }\nexport function onlyTested() {\n  return 1;\n}\n`,
  'src/room/b.ts': `import type { A } from '../a.ts';\nexport interface B { a: A }\ninterface Same {}\n`,
  'src/room/c.ts': `import { onlyHere } from './d.ts';\ninterface Same {}\nexport const c = () => onlyHere;\n`,
  'src/room/d.ts': `export const onlyHere = 1;\n`,
  'test/a.test.ts': `import { onlyTested } from '../src/a.ts';\nconst { c } = await import('../src/room/c.ts');\n`,
};
const tree = treeOf(Object.entries(files).map(([path, text]) => readSource(path, text)));
const measures = new Map(measure(tree).map((one) => [one.name, one]));

test('finds a circle that only types close', () => {
  expect(circlesOf(tree)).toEqual([['src/a.ts', 'src/room/b.ts']]);
});

test('counts exports by their importers', () => {
  expect(measures.get('exports imported by tests and tools only')?.names).toEqual([
    'src/a.ts:onlyTested',
    'src/room/c.ts:c',
  ]);
  expect(measures.get('exports used by one file')?.names).toContain('src/room/d.ts:onlyHere');
});

test('counts rooms, arrows, repeated names and lines', () => {
  expect(measures.get('rooms of src')?.names).toEqual(['src', 'src/room']);
  expect(measures.get('arrows between rooms')?.names).toEqual(['src → src/room', 'src/room → src']);
  expect(measures.get('type names declared in two files or more')?.names).toEqual([
    'Same 2×: src/room/b.ts, src/room/c.ts',
  ]);
  expect(measures.get('longest function of the product')?.names).toEqual(['src/a.ts:onlyTested']);
  expect(measures.get('lines, test')?.value).toBe(2);
});
