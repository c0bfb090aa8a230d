import { execFile } from 'node:child_process';
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { promisify } from 'node:util';
import { sql, getTableColumns } from 'drizzle-orm';
import { getTableConfig } from 'drizzle-orm/pg-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { loadTables } from '../../src/postgres/load-tables.ts';
import { factsOf } from '../../src/tables/describe.ts';
import { packageRoot } from '../../src/package.ts';
import { openTestStore, type TestStore } from '../support/database/database.ts';

const Text = z.object({ text: z.string() });
const tables = await loadTables();
const names = tables.map((table) => getTableConfig(table).name);

describe('the description of every table', () => {
  test.each(names.map((name, index) => ({ name, table: tables[index]! })))(
    '$name says what each column is',
    ({ table }) => {
      const facts = factsOf(table);
      const columns = Object.values(getTableColumns(table)).map(({ name }) => name);
      expect(Object.keys(facts.columns).sort()).toEqual(columns.sort());
      for (const comment of [facts.comment, ...Object.values(facts.columns)])
        expect(comment.length).toBeGreaterThanOrEqual(20);
    },
  );

  test('never has the same text for two columns', () => {
    const seen = new Map<string, string>();
    for (const table of tables) {
      for (const [column, comment] of Object.entries(factsOf(table).columns)) {
        const name = `${getTableConfig(table).name}.${column}`;
        expect(seen.get(comment), `${name} and another column`).toBeUndefined();
        seen.set(comment, name);
      }
    }
  });
});

describe('the migrations', () => {
  test('are what drizzle-kit makes of the tables: nothing has drifted', async () => {
    const copy = await mkdtemp(join(tmpdir(), 'toncenter-etl-migrations-'));
    try {
      await cp(join(packageRoot, 'migrations'), copy, { recursive: true });
      const before = await readdir(copy);
      const config = join(copy, 'drizzle.config.json');
      const out = relative(packageRoot, copy);
      await writeFile(
        config,
        JSON.stringify({
          dialect: 'postgresql',
          schema: './src/tables/**/*.ts',
          out,
          schemaFilter: ['ton', 'etl'],
        }),
      );
      await promisify(execFile)('npx', ['drizzle-kit', 'generate', '--config', config, '--name', 'drift'], {
        cwd: packageRoot,
      });
      expect((await readdir(copy)).filter((file) => file !== 'drizzle.config.json').sort()).toEqual(
        before.sort(),
      );
    } finally {
      await rm(copy, { recursive: true, force: true });
    }
  });

  test('are in the order of their times: Drizzle skips one that was merged late', async () => {
    const journal = z
      .object({ entries: z.array(z.object({ when: z.number() })) })
      .parse(JSON.parse(await readFile(join(packageRoot, 'migrations/meta/_journal.json'), 'utf8')));
    const times = journal.entries.map(({ when }) => when);
    expect(times).toEqual([...times].sort((a, b) => a - b));
  });
});

describe('a migrated database', () => {
  let store: TestStore;
  beforeAll(async () => {
    store = await openTestStore();
  });
  afterAll(() => store.close());

  const texts = async (query: ReturnType<typeof sql>) =>
    (await store.database.rows(query, Text)).map(({ text }) => text);

  test('has a comment on every schema, table, view, column and function', async () => {
    expect(
      await texts(sql`
        select n.nspname as text from pg_namespace n
        where n.nspname in ('ton', 'etl', 'etl_partitions') and obj_description(n.oid, 'pg_namespace') is null
        union all
        select c.oid::regclass::text from pg_class c join pg_namespace n on n.oid = c.relnamespace
        where n.nspname in ('ton', 'etl') and c.relkind in ('r', 'p', 'v')
          and obj_description(c.oid, 'pg_class') is null
        union all
        select c.oid::regclass || '.' || a.attname from pg_attribute a join pg_class c on c.oid = a.attrelid
          join pg_namespace n on n.oid = c.relnamespace
        where n.nspname in ('ton', 'etl') and c.relkind in ('r', 'p', 'v')
          and a.attnum > 0 and not a.attisdropped and col_description(c.oid, a.attnum) is null
        union all
        select p.oid::regprocedure::text from pg_proc p join pg_namespace n on n.oid = p.pronamespace
        where n.nspname in ('ton', 'etl') and obj_description(p.oid, 'pg_proc') is null`),
    ).toEqual([]);
  });

  test('partitions exactly the tables that are declared so', async () => {
    const partitioned =
      await texts(sql`select relname as text from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where n.nspname = 'ton' and relkind = 'p'`);
    const declared = tables
      .filter((table) => factsOf(table).partitioned)
      .map((table) => getTableConfig(table).name);
    expect(partitioned.sort()).toEqual(declared.sort());
  });

  test('keeps every key that its table declares', async () => {
    for (const table of tables) {
      const { schema, name } = getTableConfig(table);
      const keys = await texts(sql`
        select a.attname as text from pg_index i, unnest(i.indkey) with ordinality k(attnum, place)
          join pg_attribute a on a.attnum = k.attnum
        where i.indrelid = ${`${schema}.${name}`}::regclass and i.indisprimary and a.attrelid = i.indrelid order by k.place`);
      expect(keys, name).toEqual(factsOf(table).key);
    }
  });
});
