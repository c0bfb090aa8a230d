import { afterAll, beforeAll, expect } from 'vitest';
import { sql } from 'drizzle-orm';
import * as z from 'zod';
import { loadDatasets } from '../../src/dataset/load-jobs.ts';
import { splitKinds } from '../../src/dataset/dataset.ts';
import { formatAddress } from '../../src/ton/address.ts';
import { readOnce, readStreamsOf, select } from '../support/collections.ts';
import { openTestStore, type TestStore } from '../support/database/database.ts';
import { startSimulator, type Simulator } from '../support/simulator/simulator.ts';
import { thorough } from '../support/thorough.ts';

/*
 * A server that prints other forms of addresses, hashes, shards and numbers than TON Center's fills the
 * tables with the same rows, column by column.
 */

const START = Date.UTC(2026, 4, 1) / 1000;
const RANGE = { from: START, to: START + 120 };
const STREAMS = [
  'blocks',
  'transactions',
  'traces',
  'actions',
  'jetton_transfers',
  'jetton_burns',
  'nft_transfers',
];

type Rewrite = (body: string) => string;

const ADDRESS = /"(-?\d+:[0-9A-F]{64})"/g;
/** Bags of cells are not hashes, however long they are. */
const HASH = /"(?!te6)([A-Za-z0-9+/]{43}=)"/g;
const SHARD = /"shard":"([0-9A-F]{1,16})"/g;
const OPCODE = /"opcode":"(0x[0-9a-f]{8})"/g;
const FLAGS = named(
  'aborted|destroyed|credit_first|bounce|bounced|ihr_disabled|mintable|on_sale|is_incomplete|key_block|after_merge|before_split|after_split|to_key_block|is_indexed',
  'true|false',
);
const AMOUNTS = named(
  'lt|start_lt|end_lt|trace_end_lt|created_lt|prev_trans_lt|transaction_lt|last_transaction_lt|value|fwd_fee|ihr_fee|import_fee|total_fees|balance|total_supply|gas_used|gas_limit|gen_utime|created_at|query_id|fee|storage_fee|other_fee',
  '"-?\\d+"',
);
const NUMBERS = named(
  'seqno|workchain|now|utime|mc_block_seqno|tx_count|global_id|version|start_utime|end_utime|trace_end_utime|transaction_now|exit_code|mode|threshold|vm_steps|sync_utime',
  '-?\\d+',
);

function named(names: string, value: string): RegExp {
  return new RegExp(`"(${names})":(${value})(?=[,}])`, 'g');
}

function hexOf(base64: string): string {
  return Buffer.from(base64, 'base64').toString('hex');
}

const SERVERS: Readonly<Record<string, readonly Rewrite[]>> = {
  'addresses in lower case, hashes in hex, shards in decimal, flags and opcodes as numbers': [
    (body) => body.replaceAll(ADDRESS, (text) => text.toLowerCase()),
    (body) => body.replaceAll(HASH, (_, hash: string) => `"${hexOf(hash)}"`),
    (body) =>
      body.replaceAll(SHARD, (_, hex: string) => `"shard":"${BigInt.asIntN(64, BigInt(`0x${hex}`))}"`),
    (body) =>
      body.replaceAll(FLAGS, (_, name: string, flag: string) => `"${name}":${flag === 'true' ? 1 : 0}`),
    (body) => body.replaceAll(OPCODE, (_, code: string) => `"opcode":${Number(code)}`),
    (body) => body.replaceAll('"finality":"finalized"', '"finality":2'),
  ],
  'friendly addresses, hashes in base64url without padding, numbers where text is usual': [
    (body) => body.replaceAll(ADDRESS, (_, raw: string) => `"${formatAddress(raw)}"`),
    (body) =>
      body.replaceAll(HASH, (_, hash: string) => `"${Buffer.from(hash, 'base64').toString('base64url')}"`),
    (body) =>
      body.replaceAll(AMOUNTS, (_, name: string, digits: string) => `"${name}":${digits.slice(1, -1)}`),
    (body) =>
      body.replaceAll(
        OPCODE,
        (_, code: string) =>
          `"opcode":"${code
            .replace(/^0x0*(?=.)/, '0x')
            .toUpperCase()
            .replace('X', 'x')}"`,
      ),
  ],
  'hashes in hex behind 0x, shards padded and in lower case, text where numbers are usual': [
    (body) => body.replaceAll(HASH, (_, hash: string) => `"0x${hexOf(hash).toUpperCase()}"`),
    (body) =>
      body.replaceAll(SHARD, (_, hex: string) => `"shard":"0x${hex.toLowerCase().padStart(16, '0')}"`),
    (body) => body.replaceAll(NUMBERS, (_, name: string, digits: string) => `"${name}":"${digits}"`),
    (body) => body.replaceAll(FLAGS, (_, name: string, flag: string) => `"${name}":"${flag}"`),
    (body) =>
      body
        .replaceAll('"frozen_hash":null', '"frozen_hash":""')
        .replaceAll('"import_fee":null', '"import_fee":""'),
  ],
};

let simulator: Simulator;
let rewrites: readonly Rewrite[] = [];
const stores: TestStore[] = [];
let truth: Map<string, string[]>;

beforeAll(async () => {
  simulator = await startSimulator({
    start: START,
    duration: 240,
    load: 12,
    accounts: 200,
    after: ({ path }, response) => {
      // v2 already names its accounts in friendly form, and prints its shards in decimal.
      const body = rewrites.reduce((text, rewrite) => rewrite(text), response.body.toString());
      return path === '/api/v3/addressBook' || response.status !== 200 ? response : { ...response, body };
    },
  });
  truth = await crawled();
}, 60_000);
afterAll(async () => {
  await simulator.close();
  await Promise.all(stores.map((store) => store.close()));
});

/** The rows of each table after a crawl of all datasets, without columns that depend on when they were written. */
async function crawled(): Promise<Map<string, string[]>> {
  const store = await openTestStore();
  stores.push(store);
  await readStreamsOf(store, simulator.url, RANGE, STREAMS);
  const entities = simulator.truth.entities();
  const [first = ''] = [...entities.balances()].map(({ account }) => account);
  const watched = [
    first,
    ...[...entities.multisigs(false), ...entities.multisigOrders(false), ...entities.vestings()].map(
      ({ address }) => address,
    ),
  ];
  await store.database.script(
    `insert into etl.watch (address) select unnest('{${watched.join()}}'::text[]) on conflict do nothing`,
  );
  await store.database.script(`delete from ton.transactions where lt % 7 = 0`);
  const all = await loadDatasets();
  const names = splitKinds(all).collections.map(({ name }) => name);
  const range = { from: START, to: START + 10 };
  await readOnce(store, simulator.url, names, { range, choices: { accounts: 'seen', bocs: true } });
  const quarantined = await store.database.rows(
    sql`select dataset, path, reason, left(raw, 300) as raw from etl.quarantine limit 5`,
    z.object({ dataset: z.string(), path: z.string(), reason: z.string(), raw: z.string() }),
  );
  expect(quarantined).toEqual([]);
  const tables = new Set(all.flatMap(({ job }) => Object.keys(job.tables)));
  const rows = new Map<string, string[]>();
  for (const table of tables) rows.set(table, await rowsOf(store, table));
  return rows;
}

/** Free-form JSON is kept as it came, so only its presence is compared. */
async function rowsOf(store: TestStore, table: string): Promise<string[]> {
  const rows = await select(store, `select * from ton.${table}`);
  const volatile = new Set(['loaded_at', 'taken_at', 'first_seen']);
  return rows
    .map((row) =>
      JSON.stringify(
        Object.entries(row)
          .filter(([name]) => !volatile.has(name))
          .map(([name, value]) => [name, isJson(value) ? '{}' : value]),
      ),
    )
    .sort();
}

function isJson(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(isJson);
  return typeof value === 'object' && value !== null && !(value instanceof Date);
}

thorough('every table has rows to compare, except those whose source lags or has none', () => {
  const empty = [...truth].filter(([, rows]) => rows.length === 0).map(([table]) => table);
  expect(empty.sort()).toEqual([
    'complaint_votes',
    'cycle_validators',
    'election_participants',
    'nominator_events',
    'nominator_pool_events',
    'validator_complaints',
    'validator_cycles',
    'validator_elections',
    'validator_events',
  ]);
});

thorough.each(Object.entries(SERVERS))(
  '%s',
  async (_name, forms) => {
    rewrites = forms;
    const rows = await crawled();
    for (const [table, expected] of truth) {
      const own = rows.get(table) ?? [];
      const [missing, surplus] = [
        expected.filter((row) => !own.includes(row)),
        own.filter((row) => !expected.includes(row)),
      ];
      expect({ table, missing: missing.slice(0, 2), surplus: surplus.slice(0, 2) }).toEqual({
        table,
        missing: [],
        surplus: [],
      });
      expect([table, own.length]).toEqual([table, expected.length]);
    }
  },
  60_000,
);
