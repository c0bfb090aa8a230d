import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { getTableConfig } from 'drizzle-orm/pg-core';
import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';
import { loadTables } from '../../src/postgres/load-tables.ts';
import { factsOf } from '../../src/tables/describe.ts';
import { identifiers } from '../../src/postgres/sql.ts';
import { createPartitions } from '../../src/write/target.ts';
import { openTestStore, type TestStore } from '../support/database/database.ts';
import { openDuck, type Duck } from '../support/duck.ts';

/** Values that free-form members and texts may hold, as JSON. */
const ODD: readonly unknown[] = [
  ...[
    '',
    ' ',
    'abc',
    '12abc',
    '1.5',
    '1e3',
    '-7',
    '+7',
    '.5',
    '5.',
    '.',
    '-',
    '1e',
    '1e400',
    '-1e-400',
    '1e200000',
  ],
  ...[
    '0x10',
    'NaN',
    '-nan',
    'Infinity',
    'inf',
    '٣',
    '1_000',
    '1,5',
    ' 12 ',
    '1 2',
    '12\n',
    '"5"',
    'null',
    'ext$a5',
  ],
  ...[
    '9'.repeat(38),
    '9'.repeat(39),
    '-1e38',
    '1e37',
    '9'.repeat(400),
    '9'.repeat(2000),
    `0.${'1'.repeat(500)}`,
    '0:AB',
    `300:${'A'.repeat(64)}`,
    'addr_none',
  ],
  ...[
    0,
    -1,
    1.5,
    1e300,
    2 ** 63,
    true,
    false,
    null,
    {},
    [],
    [[]],
    [{ amount: '5' }],
    { amount: {} },
    { '': [null] },
  ],
];

/** Types of rows that views read. */
const TYPES: Readonly<Record<string, readonly string[]>> = {
  actions: [
    ...['jetton_swap', 'jetton_mint', 'nft_mint', 'multisig_create_order', 'multisig_execute'],
    ...['multisig_approve', 'vesting_send_message', 'vesting_add_whitelist'],
  ],
  validator_events: ['stake_accepted', 'stake_rejected', 'stake_recovered'],
};

let store: TestStore;
let duck: Duck;
beforeAll(async () => {
  [store, duck] = [await openTestStore(), await openDuck()];
  const tables = (await loadTables()).filter((table) => getTableConfig(table).schema === 'ton');
  const streams = tables.filter((table) => factsOf(table).partitioned);
  await createPartitions(store.database, 'month').ensure(streams, ['2026-01-05T00:00:00Z']);
  for (const table of tables) {
    const { name, columns: all } = getTableConfig(table);
    // Postgres derives the generated columns itself.
    const columns = all.filter(({ generated }) => generated === undefined);
    const names = identifiers(columns.map((column) => column.name));
    const rows = (TYPES[name] ?? ['x']).flatMap((type) =>
      ODD.map((odd, index) =>
        Object.fromEntries(
          columns.map((column) => [
            column.name,
            column.name === 'type' ? type : valueFor(column.getSQLType(), odd, index),
          ]),
        ),
      ),
    );
    const relation = sql.raw(`ton.${name}`);
    await store.database.run(sql`
      insert into ${relation} (${names}) select ${names} from jsonb_populate_recordset(null::${relation}, ${JSON.stringify(rows)}::jsonb)
      on conflict do nothing`);
  }
});
afterAll(async () => {
  duck.close();
  await store.close();
});

/** An odd value if the column takes it, else the greatest or the least value of its type, or a small one. */
function valueFor(type: string, odd: unknown, index: number): unknown {
  const text = typeof odd === 'string' ? odd : `${JSON.stringify(odd)} ${index}`;
  if (type === 'jsonb') return index % 2 === 0 ? odd : detailsOf(odd);
  if (type === 'text') return text;
  if (type === 'text[]') return [text];
  if (type === 'boolean') return true;
  if (type === 'integer') return [2147483647, -2147483648, index][index % 3];
  if (type === 'bigint') return ['9223372036854775807', '-9223372036854775808', index][index % 3];
  if (type.startsWith('numeric'))
    return `${index % 4 === 1 ? '-' : ''}${'9'.repeat(type === 'numeric' ? 78 : 38)}`;
  if (type.startsWith('timestamp')) return '2026-01-05T00:00:00Z';
  return null;
}

function detailsOf(odd: unknown): object {
  const transfer = { amount: odd, source: odd, destination: odd };
  const named = { destination: odd, destination_order: odd, vesting: odd };
  return {
    dex: odd,
    asset_in: odd,
    asset_out: odd,
    dex_incoming_transfer: transfer,
    dex_outgoing_transfer: odd,
    ...named,
  };
}

const Relation = z.object({ relation: z.string() });

test('no view raises an error for a value that a row may hold', async () => {
  const views = await store.database.rows(
    sql`select n.nspname || '.' || c.relname as relation from pg_class c join pg_namespace n on n.oid = c.relnamespace
        where n.nspname in ('ton', 'etl') and c.relkind = 'v' order by 1`,
    Relation,
  );
  expect(views.length).toBeGreaterThan(30);
  const failed: string[] = [];
  for (const { relation } of views)
    // All columns of all rows, as the reader role sees them.
    await store.database
      .run(sql.raw(`select count(v::text) from ${relation} v`))
      .catch((error: unknown) => failed.push(`${relation}: ${String(error)}`));
  expect(failed).toEqual([]);
});

test('numbers of views have the digits that clients read, and what has more is null beside the exact amount', async () => {
  // Numbers of 256 bits have their digits as text beside them. No view has such a number.
  const unbounded = await store.database.rows(
    sql`select c.relname || '.' || a.attname as relation, c.relkind = 'v' as is_view, exists (
          select from pg_attribute t where t.attrelid = c.oid and t.attname = a.attname || '_text') as has_text
        from pg_class c join pg_attribute a on a.attrelid = c.oid
        where c.relnamespace = 'ton'::regnamespace and a.atttypid = 'numeric'::regtype and a.atttypmod = -1
          and c.relkind in ('r', 'p', 'v') order by 1`,
    Relation.extend({ is_view: z.boolean(), has_text: z.boolean() }),
  );
  expect(unbounded.map(({ relation }) => relation)).toContain('nft_items.index');
  for (const column of unbounded) expect(column).toMatchObject({ is_view: false, has_text: true });
  const largest = String(2n ** 256n - 1n);
  await store.database.run(
    sql`insert into ton.nft_items (address, index, last_transaction_lt) values ('0:LARGEST', ${largest}, '1')`,
  );
  const [item] = await store.database.rows(
    sql`select index_text as digits from ton.nft_items where address = '0:LARGEST'`,
    z.object({ digits: z.string() }),
  );
  expect(item).toEqual({ digits: largest });
  const edge = (text: string) => ({ text, fits: `-${text}` });
  const edges = await store.database.rows(
    sql`select etl.fit(x, scale)::text as text, etl.fit(-x, scale)::text as fits
        from (values (repeat('9', 38)::numeric, 0), (repeat('9', 38)::numeric + 0.5, 0), (repeat('9', 20)::numeric, 18),
          (repeat('9', 20)::numeric + 0.9999999999999999995, 18), ('NaN', 0), ('Infinity', 6), (null, 9)) v (x, scale)`,
    z.object({ text: z.string().nullable(), fits: z.string().nullable() }),
  );
  const none = { text: null, fits: null };
  expect(edges).toEqual([
    edge('9'.repeat(38)),
    none,
    edge(`${'9'.repeat(20)}.${'0'.repeat(18)}`),
    ...[none, none, none, none],
  ]);
  const large = await store.database.rows(
    sql`select amount::text as text, amount_raw::text as fits from ton.jetton_events where amount_raw = repeat('9', 38)::numeric limit 1`,
    z.object({ text: z.string().nullable(), fits: z.string() }),
  );
  expect(large).toEqual([{ text: null, fits: '9'.repeat(38) }]);
});

test('swaps name accounts in the form of the tables, whatever the form in details', async () => {
  const hex = '83dfd552e63729b472fcbcc8c45ebcc6691702558b68ec7527e1ba403a0f31a8';
  const raw = `0:${hex.toUpperCase()}`;
  const forms = [
    raw,
    `0:${hex}`,
    'EQCD39VS5jcptHL8vMjEXrzGaRcCVYto7HUn4bpAOg8xqB2N',
    'UQCD39VS5jcptHL8vMjEXrzGaRcCVYto7HUn4bpAOg8xqEBI',
  ];
  const inOther = 'Ef8zMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzM0vF';
  for (const [index, form] of [...forms, inOther].entries())
    await store.database.run(sql`
      insert into ton.actions select (jsonb_populate_record(a, ${JSON.stringify({
        trace_id: `form ${index}`,
        details: { asset_in: form, asset_out: form, dex_incoming_transfer: { destination: form } },
      })}::jsonb)).* from (select a from ton.actions a where type = 'jetton_swap' limit 1) as one (a)`);
  const swaps = await store.database.rows(
    sql`select asset_in, asset_out, pool from ton.swaps where trace_id like 'form %' order by trace_id`,
    z.object({ asset_in: z.string(), asset_out: z.string(), pool: z.string() }),
  );
  const masterchain = `-1:${'33'.repeat(32)}`;
  expect(swaps).toEqual(
    [...forms.map(() => raw), masterchain].map((each) => ({ asset_in: each, asset_out: each, pool: each })),
  );
  const lake = await openDuck();
  const [functions = ''] = readFileSync(
    join(import.meta.dirname, '../../migrations/duckdb.sql'),
    'utf8',
  ).split('-- The valid parts of each table');
  await lake.rows(functions);
  for (const form of [...forms, inOther])
    expect(await lake.rows(`select etl.raw_address('${form}')`)).toEqual([
      [form === inOther ? masterchain : raw],
    ]);
});

test('no function does either', async () => {
  await store.database.script(`
    update ton.transactions t set account = '0:' || repeat('A', 64), lt = n.lt, in_msg_hash = hash, in_msg_utime = utime
      from (select ctid, row_number() over () as lt from ton.transactions) n where n.ctid = t.ctid;
    update ton.messages set out_msg_tx_hash = hash, value = 5;
    update ton.jetton_masters set address = '0:' || repeat('B', 64) where address = 'abc'`);
  const about = [
    `ton.account_statement('0:' || repeat('A', 64), '2026-01-01Z', '2026-02-01Z') s`,
    `ton.jetton_holders('0:' || repeat('B', 64)) s`,
    `ton.jetton_units('0:' || repeat('B', 64), 5) s`,
  ];
  const counts = [];
  for (const relation of about)
    counts.push(
      await store.database.rows(
        sql.raw(`select count(*)::int as rows, count(s::text)::int as shown from ${relation}`),
        z.object({ rows: z.number(), shown: z.number() }),
      ),
    );
  // External addresses and invalid hashes are shown unchanged.
  expect(counts[0]?.[0]?.rows).toBeGreaterThan(ODD.length);
});

test('a text is a number or null, and DuckDB gives the same number if its type can hold it', async () => {
  const texts = ODD.filter((odd) => typeof odd === 'string');
  const numbers = await store.database.rows(
    sql`select t as text, etl.to_numeric(t)::text as number from json_array_elements_text(${JSON.stringify(texts)}::json) t`,
    z.object({ text: z.string(), number: z.string().nullable() }),
  );
  const found = Object.fromEntries(numbers.map(({ text, number }) => [text, number]));
  expect(found).toMatchObject({ '1.5': '1.5', '1e3': '1000', '-7': '-7', '+7': '7', '.5': '0.5', '5.': '5' });
  const none = [
    '',
    ' ',
    'abc',
    '12abc',
    '.',
    '-',
    '1e',
    '1e200000',
    '0x10',
    'NaN',
    '-nan',
    'Infinity',
    'inf',
    '٣',
  ];
  const large = ['9'.repeat(39), '-1e38', '1e400', '9'.repeat(400), '9'.repeat(2000)];
  for (const text of [...none, ...large, '1_000', '1,5', ' 12 ', '12\n']) expect(found[text]).toBeNull();
  for (const text of ['9'.repeat(38), `1${'0'.repeat(37)}`]) expect(Object.values(found)).toContain(text);
  const macro =
    /create or replace macro etl\.to_numeric[\s\S]*?;/.exec(
      readFileSync(join(import.meta.dirname, '../../migrations/duckdb.sql'), 'utf8'),
    )?.[0] ?? '';
  await duck.rows(`create schema etl; ${macro}`);
  for (const text of texts) {
    const [row] = await duck.rows(`select etl.to_numeric('${text.replaceAll("'", "''")}')::varchar`);
    const number = found[text];
    const fits = number !== null && number !== undefined && /^-?\d{1,38}$/.test(number);
    if (fits || number === null) expect([text, row?.[0]]).toEqual([text, number]);
  }
});
