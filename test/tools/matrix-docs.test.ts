import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { cellsOf, streamTables } from '../../tools/proof/matrix/cells.ts';
import { readLastRun } from '../../tools/proof/matrix/docs/last-run.ts';
import { docsOfLastRun } from '../../tools/proof/matrix/docs/save-docs.ts';

test('the docs list what verification cannot see as the last run of the matrix found it', async () => {
  for (const [path, text] of Object.entries(await docsOfLastRun()))
    expect(readFileSync(path, 'utf8'), path).toBe(text);
});

test("the last run of the matrix had every column of every stream's table", async () => {
  const run = Object.keys(await readLastRun());
  const cells = (await streamTables()).flatMap(cellsOf);
  const columns = new Set(cells.map(({ id }) => id.replace(/ \w+$/, '')));
  const known = new Set(run.map((id) => id.replace(/ \w+$/, '')));
  expect([...columns].filter((column) => !known.has(column))).toEqual([]);
  expect(run.filter((id) => !cells.some((cell) => cell.id === id))).toEqual([]);
});
