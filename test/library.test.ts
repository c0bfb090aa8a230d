import { getTableConfig } from 'drizzle-orm/pg-core';
import { expect, test } from 'vitest';
import { loadTables } from '../src/postgres/load-tables.ts';
import * as tables from '../src/library/tables.ts';

// `.ci/run` tries what the packed package gives a program: tools/package/try-library.js.
test('exports every table of the data', async () => {
  const all = (await loadTables()).map(getTableConfig).filter(({ schema }) => schema === 'ton');
  const exported = Object.values(tables).map((table) => getTableConfig(table).name);
  expect(exported.sort()).toEqual(all.map(({ name }) => name).sort());
});
