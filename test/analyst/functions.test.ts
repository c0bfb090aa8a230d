import fc from 'fast-check';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { formatAddress, parseAddress, parseHash } from '../../src/ton/address.ts';
import { openTestStore, type TestStore } from '../support/database/database.ts';
import { hasCorpus, NO_CORPUS, readCorpus } from '../support/shared-data.ts';

let store: TestStore;
let client: pg.Client;

beforeAll(async () => {
  store = await openTestStore();
  client = new pg.Client({ connectionString: store.url, options: '-c search_path=ton' });
  await client.connect();
});
afterAll(async () => {
  await client.end();
  await store.close();
});

/** The function's value for each argument, in one statement. */
async function each(call: string, values: readonly string[]): Promise<(string | null)[]> {
  const { rows } = await client.query<{ value: string | null }>(
    `select ${call} as value from unnest($1::text[]) with ordinality given (x, place) order by place`,
    [values],
  );
  return rows.map(({ value }) => value);
}

const outcome = async (call: string, value: string): Promise<string> => {
  try {
    return String((await each(call, [value]))[0]);
  } catch (error) {
    expect(error).toBeInstanceOf(pg.DatabaseError);
    const { code, message } = error as pg.DatabaseError;
    expect(code).toBe('22P02');
    return `refused: ${message}`;
  }
};

function outcomeOf(parse: () => string): string {
  try {
    return parse();
  } catch (error) {
    return `refused: ${(error as Error).message}`;
  }
}

const hash = fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => Buffer.from(bytes));
const sample = fc.sample(fc.tuple(fc.integer({ min: -128, max: 127 }), hash), { numRuns: 100, seed: 1 });
const raws = sample.map(([workchain, bytes]) => `${workchain}:${bytes.toString('hex').toUpperCase()}`);
const forms = [true, false].flatMap((bounceable) =>
  [true, false].map((testnet) => ({ bounceable, testnet })),
);

/** Tether's jetton master. */
const USDT = '0:B113A994B5024A16719F69139328EB759596C38A25F59028B146FECDC3621DFE';
const USDT_FRIENDLY = 'EQCxE6mUtQJKFnGfaROTKOt1lZbDiiX1kCixRv7Nw2Id_sDs';

describe('ton_address and ton_address_friendly', () => {
  test.each(forms)('return what the program prints, $bounceable, $testnet', async (form) => {
    const friendly = raws.map((raw) => formatAddress(raw, form));
    expect(await each(`ton_address_friendly(x, ${form.bounceable}, ${form.testnet})`, raws)).toEqual(
      friendly,
    );
    expect(await each('ton_address(x)', friendly)).toEqual(raws);
    const plain = friendly.map((text) => text.replaceAll('-', '+').replaceAll('_', '/'));
    expect(await each('ton_address(x)', plain)).toEqual(raws);
  });

  test('read raw addresses in any case, bare hex, and surrounding spaces', async () => {
    expect(await each('ton_address(x)', [...raws.map((raw) => raw.toLowerCase()), ...raws])).toEqual([
      ...raws,
      ...raws,
    ]);
    expect(await each('ton_address(x)', [USDT.slice(2).toLowerCase(), `  ${USDT_FRIENDLY}\n`])).toEqual([
      USDT,
      USDT,
    ]);
    expect(await each('ton_address_friendly(x)', [USDT_FRIENDLY, USDT])).toEqual([
      USDT_FRIENDLY,
      USDT_FRIENDLY,
    ]);
  });

  test('refuse what the program refuses, with the same message', async () => {
    const mistyped = Array.from(USDT_FRIENDLY, (letter, place) => {
      const other = letter === 'A' ? 'B' : 'A';
      return USDT_FRIENDLY.slice(0, place) + other + USDT_FRIENDLY.slice(place + 1);
    });
    const wrong = [
      'hello',
      '',
      USDT.slice(0, -1),
      `9999999999:${'0'.repeat(64)}`,
      'A'.repeat(48),
      ...mistyped,
    ];
    for (const text of wrong) {
      const expected = outcomeOf(() => parseAddress(text));
      expect(expected).toMatch(/^refused: /);
      expect(await outcome('ton_address(x)', text)).toBe(expected);
    }
  });

  test('give null for null', async () => {
    const { rows } = await client.query(
      'select ton_address(null) as a, ton_hash(null) as h, hash_hex(null) as x',
    );
    expect(rows).toEqual([{ a: null, h: null, x: null }]);
  });

  test.skipIf(!hasCorpus)(
    `agree with recorded address books${hasCorpus ? '' : ` (${NO_CORPUS})`}`,
    async () => {
      const books = readCorpus('responses/v3').flatMap(booksIn);
      expect(books.length).toBeGreaterThan(50);
      const [raw, friendly] = [books.map(([one]) => one), books.map(([, other]) => other)];
      expect(await each('ton_address(x)', friendly)).toEqual(raw);
      const { rows } = await client.query<{ form: string }>(
        `select ton_address_friendly(raw, friendly ~ '^[Ek]', friendly ~ '^[k0]') as form
       from unnest($1::text[], $2::text[]) with ordinality given (raw, friendly, place) order by place`,
        [raw, friendly],
      );
      expect(rows.map(({ form }) => form)).toEqual(friendly);
    },
  );
});

/** Every pair of raw and friendly address in the address books of a response. */
function booksIn(value: unknown): [string, string][] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]: [string, unknown]): [string, string][] => {
    if (typeof inner !== 'object' || inner === null) return [];
    if (!('user_friendly' in inner)) return booksIn(inner);
    return typeof inner.user_friendly === 'string' && /^-?\d:[0-9A-F]{64}$/.test(name)
      ? [[name, inner.user_friendly]]
      : [];
  });
}

describe('ton_hash and hash_hex', () => {
  const hashes = sample.map(([, bytes]) => bytes);
  const base64 = hashes.map((bytes) => bytes.toString('base64'));

  test('read every form', async () => {
    const written = [
      hashes.map((bytes) => bytes.toString('hex')),
      hashes.map((bytes) => `0x${bytes.toString('hex').toUpperCase()}`),
      base64,
      base64.map((text) => text.replace('=', '')),
      hashes.map((bytes) => bytes.toString('base64url')),
      base64.map((text) => ` ${text}\n`),
    ];
    for (const form of written) {
      expect(await each('ton_hash(x)', form)).toEqual(base64);
      expect(await each('hash_hex(x)', form)).toEqual(hashes.map((bytes) => bytes.toString('hex')));
    }
  });

  test('refuse what the program refuses', async () => {
    const [one = ''] = base64;
    for (const text of [
      '',
      one.slice(1),
      `${one}A`,
      `${one.slice(0, 42)}B=`,
      `${one.slice(0, 42)}!=`,
      'ab'.repeat(31),
    ]) {
      const expected = outcomeOf(() => parseHash(text));
      expect(expected).toMatch(/^refused: .* is not a hash$/);
      expect(await outcome('ton_hash(x)', text)).toBe(expected);
    }
  });
});

test('nano_to_ton is exact to the last digit', async () => {
  const { rows } = await client.query<Record<string, string>>(
    `select nano_to_ton(1) as one, nano_to_ton(-1500000000) as less, nano_to_ton(123456789012345678901234567890) as much`,
  );
  expect(rows).toEqual([
    { one: '0.000000001', less: '-1.500000000', much: '123456789012345678901.234567890' },
  ]);
});

test('jetton_units, accounts and jetton_events know decimals by one rule: the master, else metadata, else nine, and never guess', async () => {
  const onChain = '{"name": "One"}';
  const offChain = '{"uri": "https://example.com/one.json"}';
  /**
   * From the master: decimals and content. From metadata: whether it is complete, and decimals. Then the
   * expected decimals.
   */
  const kinds = [
    { master: [6, null], metadata: null, is: 6 },
    { master: [0, null], metadata: [true, 9], is: 0 },
    { master: [6, onChain], metadata: [true, 18], is: 6 },
    { master: [null, onChain], metadata: null, is: 9 },
    { master: [null, offChain], metadata: [true, 3], is: 3 },
    { master: [null, offChain], metadata: [false, null], is: null },
    { master: [null, offChain], metadata: [true, null], is: 9 },
    { master: [null, null], metadata: null, is: null },
    { master: null, metadata: [true, 18], is: 18 },
    { master: null, metadata: [true, null], is: 9 },
    { master: null, metadata: [false, null], is: null },
    { master: null, metadata: null, is: null },
  ] as const;
  const addressOf = (place: number) => `0:${String(place).padStart(64, 'A')}`;
  const amount = '12345678901234567891';
  await client.query(`begin; create table etl_partitions.jetton_burns_probe partition of ton.jetton_burns
    for values from ('2026-01-01Z') to ('2026-02-01Z')`);
  for (const [place, { master, metadata }] of kinds.entries()) {
    const address = addressOf(place);
    if (master !== null)
      await client.query(
        'insert into ton.jetton_masters (address, decimals, jetton_content, last_transaction_lt) values ($1, $2, $3, 1)',
        [address, ...master],
      );
    if (metadata !== null)
      await client.query(
        `insert into ton.token_metadata (address, type, is_indexed, decimals) values ($1, 'jetton_masters', $2, $3)`,
        [address, ...metadata],
      );
    await client.query(
      `insert into ton.jetton_burns (utime, transaction_lt, transaction_hash, owner, jetton_wallet, jetton_master, amount)
       values ('2026-01-02Z', $1, $2, $3, $3, $2, $4)`,
      [place, address, addressOf(99), amount],
    );
  }
  const { rows } = await client.query<Record<string, string>>(
    `select e.lt::int as place, jetton_units(lower(e.jetton_master), e.amount_raw) as units, trim_scale(e.amount) as amount, a.token_decimals, s.amount as stated
     from ton.jetton_events e left join ton.accounts a on a.address = e.jetton_master
     join account_statement('${addressOf(99)}', '2026-01-01Z', '2026-02-01Z') s on s.jetton_master = e.jetton_master order by e.lt`,
  );
  await client.query('rollback');
  const unitsOf = (places: number | null) => {
    if (places === null) return null;
    const split = amount.length - places;
    return places === 0 ? amount : `${amount.slice(0, split)}.${amount.slice(split)}`;
  };
  expect(rows).toEqual(
    kinds.map(({ is }, place) => {
      const units = unitsOf(is);
      return { place, units, amount: units, token_decimals: is, stated: units === null ? null : `-${units}` };
    }),
  );
});

test('accounts does not list an item as a jetton', async () => {
  const item = `0:${'B'.repeat(64)}`;
  await client.query(
    `begin; insert into ton.token_metadata (address, type, is_indexed) values ('${item}', 'nft_items', true)`,
  );
  const { rows } = await client.query(`select token_decimals from accounts where address = '${item}'`);
  await client.query('rollback');
  expect(rows).toEqual([{ token_decimals: null }]);
});

describe('the planner', () => {
  test.each([
    ['transactions', `account = ton_address('${USDT_FRIENDLY}')`, USDT],
    ['transactions', `hash = ton_hash('${'ab'.repeat(32)}')`, parseHash('ab'.repeat(32))],
    ['messages', `hash = ton_hash('0x${'ab'.repeat(32)}')`, parseHash('ab'.repeat(32))],
    ['jetton_transfers', `jetton_master = ton_address('${USDT_FRIENDLY}')`, USDT],
  ])('uses an index of %s for %s', async (table, condition, constant) => {
    const partition = `etl_partitions.${table}_probe`;
    await client.query(
      `begin; create table ${partition} partition of ton.${table} for values from ('2026-01-01Z') to ('2026-02-01Z')`,
    );
    await client.query('set local enable_seqscan = off');
    const { rows } = await client.query<Record<string, string>>(
      `explain select * from ${table} where ${condition}`,
    );
    await client.query('rollback');
    const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
    expect(plan).toMatch(/Index/);
    expect(plan).toContain(`Index Cond: (${condition.split(' ')[0]} = '${constant}'::text)`);
  });

  /** Those that hold a subquery or need settings of their own: none of them is called once a row of a large table. */
  const CALLED = [
    'as_argument',
    'as_times',
    'budget_rate',
    'did_you_mean',
    'positions_in',
    'raw_of_friendly',
  ];
  test('inlines the others that are one expression: a call costs more than what it computes', async () => {
    const { rows: functions } = await client.query<{ name: string; call: string; columns: string }>(
      `select p.proname as name, p.oid::regproc || '(' || string_agg(format('x.c%s::%s', place, format_type(type, null)), ', ' order by place) || ')' as call,
         string_agg(format('nullif(g, 0)::text as c%s', place), ', ') as columns
       from pg_proc p join pg_language l on l.oid = p.prolang, unnest(p.proargtypes::oid[]) with ordinality a (type, place)
       where p.pronamespace in ('ton'::regnamespace, 'etl'::regnamespace) and l.lanname = 'sql' and p.provolatile = 'i'
       group by p.oid`,
    );
    const called: string[] = [];
    for (const { name, call, columns } of functions) {
      const { rows } = await client.query<Record<string, string>>(
        `explain (verbose) select ${call} from (select ${columns} from generate_series(0, 1) g offset 0) x`,
      );
      const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
      if (new RegExp(`\\b${name}\\(`).test(plan)) called.push(name);
    }
    expect(functions.length).toBeGreaterThan(20);
    expect(called.sort()).toEqual(CALLED);
  });

  test('knows that all of them are immutable and parallel safe', async () => {
    const { rows } = await client.query<{ name: string; kind: string }>(
      `select proname as name, provolatile::text || proparallel::text as kind from pg_proc
       where pronamespace = 'ton'::regnamespace order by 1`,
    );
    const stable = ['account_statement', 'jetton_holders', 'jetton_units', 'trace_tree'];
    expect(rows.filter(({ kind }) => kind !== 'is').map(({ name }) => name)).toEqual(stable);
    expect(rows.filter(({ name }) => stable.includes(name)).map(({ kind }) => kind)).toEqual([
      'ss',
      'ss',
      'ss',
      'ss',
    ]);
    expect(rows.length).toBeGreaterThan(stable.length + 4);
  });
});
