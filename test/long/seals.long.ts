import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';
import type { Dataset } from '../../src/dataset/dataset.ts';
import { targetOf } from '../../src/write/target.ts';
import { addWatch } from '../../src/ledger/subjects.ts';
import type { Range } from '../../src/range.ts';
import type { Simulator } from '../support/simulator/simulator.ts';
import { proveRange } from '../../src/verify/prove.ts';
import type { Verified } from '../../src/verify/verify.ts';
import type { TestStore } from '../support/database/database.ts';
import { expectProved, openNetworkProof, type Proof } from '../support/verify.ts';

const START = Date.UTC(2026, 6, 1) / 1000;
const STREAMS = [
  'blocks',
  'transactions',
  'traces',
  'actions',
  'jetton_transfers',
  'jetton_burns',
  'nft_transfers',
  'validator_events',
  'validator_complaints',
  'nominator_pool_events',
];

let store: TestStore;
let proof: Proof;
let datasets: Dataset[];
let range: Range;
let close: () => Promise<void>;

beforeAll(async () => {
  const watchPools = async ({ database }: TestStore, { truth }: Simulator) => {
    for (const pool of truth.pools) await addWatch(database, pool, 'a pool');
  };
  // The network is long enough for several pages with ties at their borders; actions are reclassified in
  // between.
  const network = { start: START, duration: 720, seed: 26, load: 6, electionSeconds: 120 };
  ({ store, proof, datasets, range, close } = await openNetworkProof({
    network,
    datasets: STREAMS,
    prepare: watchPools,
  }));
  // Pools are found in the rows of the first round, and are read twice themselves.
  for (let round = 0; round < 2; round += 1) await proof.readAgain(datasets, range);
});
afterAll(() => close());

const counts = (tables: readonly string[]) => Promise.all(tables.map(count));

async function count(table: string): Promise<number> {
  const [row] = await store.database.rows(
    sql`select count(*) as rows from ${sql.raw(`ton.${table}`)}
        where utime >= to_timestamp(${range.from}) and utime < to_timestamp(${range.to})`,
    z.object({ rows: z.coerce.number() }),
  );
  return row?.rows ?? 0;
}

/** Kinds of findings. A row in several datasets is found once, and is doubtful in each. */
const brokenIn = (reports: readonly Verified[]) => [
  ...new Set(
    reports.flatMap(({ findings }) =>
      findings.filter(({ check }) => check === 'seal').map(({ kind }) => kind),
    ),
  ),
];

test('seals agree with the tables, however often rows are read, and by which process', async () => {
  const reports = await proof.verify(datasets, range);
  for (const { dataset, verified } of reports)
    expect([dataset.name, verified]).toEqual([dataset.name, [range]]);
  await proof.readAgain(datasets, range);
  expect(brokenIn(await proof.verify(datasets, range))).toEqual([]);
});

test('rows that were deleted by hand are found in each table, and are restored', async () => {
  const tables = [
    'blocks',
    'block_parents',
    'transactions',
    'messages',
    'traces',
    'trace_nodes',
    'actions',
    'action_accounts',
    'action_transactions',
    'jetton_transfers',
    'jetton_burns',
    'nft_transfers',
    'validator_events',
    'validator_complaints',
    'complaint_votes',
  ];
  const before = await counts(tables);
  for (const table of tables) {
    const name = sql.raw(`ton.${table}`);
    const gone = await store.database.run(sql`
      delete from ${name} where (tableoid, ctid) in (select tableoid, ctid from ${name}
        where utime >= to_timestamp(${range.from + 300}) and utime < to_timestamp(${range.to - 60}) limit 1)`);
    expect([table, gone]).toEqual([table, 1]);
  }
  // Every account that staked is a pool with its own verification; none has a row of these tables.
  const owners = datasets.filter(({ name }) => name !== 'nominator_pool_events');
  const found = await proof.verify(owners, range);
  expect(brokenIn(found).sort()).toEqual(tables.map((table) => `vanished_rows_of_${table}`).sort());
  await proof.repair(owners, range, found);
  expect(await counts(tables)).toEqual(before);
  expect(brokenIn(await proof.verify(owners, range))).toEqual([]);
});

test('rows that the source does not have are removed, and the seals are of the stored rows', async () => {
  const invented = [
    ['blocks', 'seqno', 'seqno + 900000'],
    ['action_accounts', 'position', 'position + 900'],
    ['action_transactions', 'utime', `utime + interval '1 second'`],
    ['jetton_burns', 'utime', `utime + interval '70 seconds'`],
    ['validator_events', 'utime', `utime + interval '1 second'`],
    ['nominator_pool_events', 'utime', `utime + interval '1 second'`],
    ['nominator_pool_events', 'tx_hash', 'lower(tx_hash)'],
  ] as const;
  const tables = [...new Set(invented.map(([table]) => table))];
  const ownerOf = (table: string) => datasets.find(({ job }) => table in job.tables)!;
  const before = await counts(tables);
  for (const [table, column, value] of invented) {
    const names = targetOf(ownerOf(table).job.tables[table]!).columns;
    const values = names.map((name) => (name === column ? value : `"${name}"`));
    const made = await store.database.run(sql`
      insert into ${sql.raw(`ton.${table}`)} (${sql.raw(names.map((name) => `"${name}"`).join(', '))})
      select ${sql.raw(values.join(', '))} from ${sql.raw(`ton.${table}`)}
        where utime >= to_timestamp(${range.from + 60}) and utime < to_timestamp(${range.to - 80}) limit 1`);
    expect([table, column, made]).toEqual([table, column, 1]);
  }
  const owners = [...new Set(tables.map(ownerOf))];
  await proveRange(proof.context, { datasets: owners, range, share: 1, repair: true, random: Math.random });
  expect(await counts(tables)).toEqual(before);
  await proof.readAgain(datasets, range);
  await expectProved(proof, datasets, range);
});

test.each([
  ['with a deep comparison', 1],
  ['without one', 0],
])("a message under another message's hash does not outlive a repair (%s)", async (_, share) => {
  const before = await count('messages');
  const read = async (index: number) => {
    const [row] = await store.database.rows(
      sql`select hash, extract(epoch from utime)::int8 as second from ton.messages
          where out_msg_tx_hash is not null and utime >= to_timestamp(${range.from + 300})
          order by utime, hash offset ${index} limit 1`,
      z.object({ hash: z.string(), second: z.coerce.number() }),
    );
    return row!;
  };
  const [one, other] = [await read(10), await read(60)];
  await store.database.run(sql`update ton.messages set hash = ${other.hash} where hash = ${one.hash}`);
  const chosen = datasets.filter(({ name }) => ['blocks', 'transactions', 'traces'].includes(name));
  await proveRange(proof.context, { datasets: chosen, range, share, repair: true, random: Math.random });
  const held = await store.database.rows(
    sql`select hash, extract(epoch from utime)::int8 as second from ton.messages
        where hash in (${one.hash}, ${other.hash}) order by utime`,
    z.object({ hash: z.string(), second: z.coerce.number() }),
  );
  const reports = await proof.verify(chosen, range);
  const wrong = reports.flatMap(({ findings }) => findings.map(({ kind, example }) => [kind, example]));
  expect({ held, wrong, count: await count('messages') }).toEqual({
    held: [one, other],
    wrong: [],
    count: before,
  });
  expect(reports.map(({ verified }) => verified)).toEqual([[range], [range], [range]]);
});

test('every pool is compared with the source, and its rows are counted', async () => {
  const [pools] = datasets.filter(({ name }) => name === 'nominator_pool_events');
  const options = { datasets: [pools!], range, share: 1, repair: false, random: Math.random };
  const { compared, isShort, reports } = await proveRange(proof.context, options);
  const rows = await count('nominator_pool_events');
  expect(compared).toEqual([{ table: 'nominator_pool_events', compared: rows, stored: rows }]);
  const scopes = reports.filter(({ dataset }) => dataset === pools);
  const asked = scopes.flatMap(({ checks }) => checks.filter(({ check }) => check === 'deep'));
  expect(asked.map(({ scope }) => scope).sort()).toEqual(scopes.map(({ stream }) => stream.scope).sort());
  expect(scopes.length).toBeGreaterThan(1);
  expect(isShort).toBe(false);
});

test('a row that another program wrote is found, too', async () => {
  await store.database.run(sql`
    insert into ton.jetton_transfers (utime, transaction_lt, transaction_hash) values (to_timestamp(${range.from + 200}), 1, 'x')`);
  const found = await proof.verify(
    datasets.filter(({ name }) => name === 'jetton_transfers'),
    range,
  );
  expect(brokenIn(found)).toEqual(['unknown_rows_of_jetton_transfers']);
});

test('an action that does not fit its trace is found without a request, and read again', async () => {
  const only = datasets.filter(({ name }) => name === 'actions');
  const nth = (n: number) =>
    sql.raw(`(select action_id from ton.actions order by utime, trace_id, action_id offset ${n} limit 1)`);
  await store.database.run(
    sql`update ton.actions set end_utime = '2106-01-01Z' where action_id = ${nth(20)}`,
  );
  await store.database.run(
    sql`update ton.actions set trace_end_lt = trace_end_lt + 1 where action_id = ${nth(60)}`,
  );
  await store.database.run(sql`update ton.actions set account_count = 99 where action_id = ${nth(100)}`);
  await store.database.run(sql`update ton.action_transactions set tx_hash = trace_id || 'x'
    where position = 0 and action_id = ${nth(140)}`);
  const found = await proof.verify(only, range);
  const kinds = found.flatMap(({ findings }) =>
    findings.filter(({ check }) => check === 'actions').map(({ kind, count }) => `${count} ${kind}`),
  );
  expect(kinds.sort()).toEqual([
    '1 action_beyond_trace',
    '1 other_members',
    '1 other_trace_end',
    '1 transaction_of_no_trace',
  ]);
  await proof.repair(only, range, found);
  await proof.readAgain(only, range);
  await expectProved(proof, only, range);
});
