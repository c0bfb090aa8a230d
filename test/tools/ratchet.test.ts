import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { packageRoot } from '../../src/package.ts';
import { measure } from '../../tools/structure/measures.ts';
import { roomsDiagram } from '../../tools/structure/rooms-diagram.ts';
import { readTree } from '../../tools/structure/tree.ts';

/** What may not grow. If a change makes one of these smaller, lower the number with it. */
const LIMITS = {
  'files, src without simulator': 204,
  'lines, src without simulator': 45_346,
  'product files with one importer': 58,
  'folders of one room that import each other': 0,
  'file names used twice': 0,
  'files that name the setting TONCENTER_RPS': 8,
  'circles of imports, types included': 0,
};

// Read once for all tests: it takes seconds.
const tree = readTree(packageRoot);
const measures = measure(tree);

test.each(Object.entries(LIMITS))('%s: at most %i', (name, limit) => {
  const found = measures.find((one) => one.name === name);
  expect(found?.value).toBeLessThanOrEqual(limit);
});

test('the diagram of the rooms in the docs shows what the files import', () => {
  const text = readFileSync(join(packageRoot, 'docs/architecture.md'), 'utf8');
  const [, diagram] = /```mermaid\n(.*?)\n```/s.exec(text) ?? [];
  expect(diagram).toBe(roomsDiagram(tree));
});
