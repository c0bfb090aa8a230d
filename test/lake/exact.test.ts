import { createReadStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { sql } from 'drizzle-orm';
import { getTableConfig } from 'drizzle-orm/pg-core';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';
import { loadTables } from '../../src/postgres/load-tables.ts';
import { describeTable, type ColumnDescription } from '../../src/read/table-rows.ts';
import { createPartitions } from '../../src/write/target.ts';
import { writeRows } from '../../src/export/write-rows.ts';
import { openEngine, type Engine } from '../../src/lake/engine.ts';
import { openTestStore, type TestStore } from '../support/database/database.ts';
import { runs } from '../support/thorough.ts';

const tables = (await loadTables())
  .filter((table) => describeTable(table).schema === 'ton')
  .map((table) => ({ name: describeTable(table).name, table }));

let store: TestStore;
let engine: Engine;
beforeAll(async () => {
  [store, engine] = [await openTestStore(), await openEngine()];
  const all = tables.map(({ table }) => table);
  // Postgres derives these columns; they are included here.
  for (const table of all)
    for (const { name, generated } of getTableConfig(table).columns)
      if (generated !== undefined)
        await store.database.run(
          sql`alter table ${table} alter column ${sql.identifier(name)} drop expression`,
        );
  await createPartitions(store.database, 'month').ensure(all, ['2026-01-01T00:00:00Z']);
});
afterAll(async () => {
  await engine.close();
  await store.close();
});

/** Characters that separate, quote or escape in some format, and texts that look like null. */
const AWKWARD = [
  '\r',
  '\n',
  '\r\n',
  '\t',
  '\v',
  '\f',
  '\b',
  '\\',
  '\\n',
  '\\.',
  '\\N',
  '"',
  "'",
  ',',
  ';',
  '{}',
  'NULL',
  '',
  ' ',
  '\u2028',
  '\u0085',
  '\uFEFF',
  '\u0001',
  'é',
  '😀',
];
const text = fc
  .array(fc.oneof(fc.constantFrom(...AWKWARD), fc.string({ unit: 'binary', maxLength: 4 })), { maxLength: 6 })
  .map((pieces) => pieces.join('').replaceAll('\0', '0'));

const digits = (most: number) => fc.stringMatching(new RegExp(`^-?[1-9][0-9]{0,${most - 1}}$`));
const json = fc.oneof(
  text,
  fc.double({ noDefaultInfinity: true, noNaN: true }),
  fc.boolean(),
  fc.array(fc.option(text)),
  fc.dictionary(text, fc.option(digits(80))),
);

const VALUES: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  text,
  jsonb: json,
  boolean: fc.boolean(),
  integer: fc.integer(),
  smallint: fc.integer({ min: -32_768, max: 32_767 }),
  bigint: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String),
  'double precision': fc.oneof(
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.constantFrom('NaN', 'Infinity', '-Infinity', '-0', '5e-324'),
  ),
  'numeric(38,0)': fc.oneof(digits(38), fc.constantFrom('0', 'NaN', '9'.repeat(38), `-${'9'.repeat(38)}`)),
  numeric: fc.oneof(
    digits(38),
    digits(39),
    digits(200),
    fc.constantFrom(
      '0',
      '0.0',
      '1.50',
      '-0.000000001',
      'NaN',
      'Infinity',
      '-Infinity',
      '9'.repeat(38),
      `-${'9'.repeat(38)}`,
      `1${'0'.repeat(38)}`,
      String(2n ** 256n - 1n),
    ),
  ),
  'timestamp with time zone': fc.oneof(
    fc
      .date({
        min: new Date('0001-01-01T00:00:00Z'),
        max: new Date('9999-12-31T23:59:59Z'),
        noInvalidDate: true,
      })
      .map((date) => date.toISOString()),
    fc.constantFrom(
      'infinity',
      '-infinity',
      '4713-01-01 00:00:00+00 BC',
      '0044-03-15 12:00:00+00 BC',
      '10000-01-01 00:00:00+00',
      '294276-12-31 23:59:59.999999+00',
      '2026-01-01 00:00:00.000001+00',
      '1969-12-31 23:59:59.5+00',
      '0001-01-01 00:00:00+00',
    ),
  ),
  'text[]': fc.array(fc.option(text), { maxLength: 3 }),
  'bigint[]': fc.array(fc.option(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String)), {
    maxLength: 3,
  }),
};

/** Rows of one second, in one partition, whose keys differ only by their index. */
function rowsOf(
  columns: readonly ColumnDescription[],
  key: readonly string[],
): fc.Arbitrary<Record<string, unknown>[]> {
  const row = Object.fromEntries(
    columns.map(({ name, type, nullable }) => {
      if (name === 'utime') return [name, fc.constant('2026-01-01T00:00:00Z')];
      const values = VALUES[type] ?? VALUES[type.replace(/\(.*/, '')] ?? fc.constant(`no values of ${type}`);
      return [name, nullable ? fc.option(values) : values];
    }),
  );
  const typeOf = (column: string) => columns.find(({ name }) => name === column)?.type;
  const last = key.findLast((column) => typeOf(column) !== 'timestamp with time zone') ?? '';
  const ofText = typeOf(last) === 'text';
  return fc
    .array(fc.record(row), { minLength: 1, maxLength: 12 })
    .map((rows) => rows.map((one, at) => ({ ...one, [last]: ofText ? `${String(one[last])}${at}` : at })));
}

const counted = z.object({ rows: z.coerce.number() });

test.each(tables)('a lake stores and returns every row of $name exactly', async ({ name, table }) => {
  const { columns, key } = describeTable(table);
  const [copied, parquet, back] = ['copied', 'parquet', 'back'].map((file) => engine.scratch(file));
  const names = columns.map((column) => column.name);
  await fc.assert(
    fc.asyncProperty(rowsOf(columns, key), async (rows) => {
      await store.database.transaction(async (session) => {
        const of = sql.raw(`ton.${name}`);
        await session.run(
          sql`insert into ${of} select * from jsonb_populate_recordset(null::${of}, ${JSON.stringify(rows)}::jsonb)`,
        );
        await writeRows(session, { table, span: undefined }, { path: copied ?? '', format: 'text' });
        await engine.toParquet(copied ?? '', columns, parquet ?? '');
        await engine.fromParquet([parquet ?? ''], { columns: names }, back ?? '');
        await session.run(sql`create temp table back (like ${of}) on commit drop`);
        await session.copyIn(sql`copy back from stdin`, createReadStream(back ?? ''));
        const lost = await session.rows(
          sql`select count(*) as rows from ((select t::text from ${of} t except all select b::text from back b)
              union all (select b::text from back b except all select t::text from ${of} t)) x`,
          counted,
        );
        const [there] = await session.rows(sql`select count(*) as rows from back`, counted);
        expect({ lost: lost[0]?.rows, there: there?.rows }).toEqual({ lost: 0, there: rows.length });
        await session.run(sql`delete from ${of}`);
      });
    }),
    { numRuns: runs(5) },
  );
  await Promise.all([copied, parquet, back].map((file) => rm(file ?? '')));
});
