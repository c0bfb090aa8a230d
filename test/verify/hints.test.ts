import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';
import { type Dataset, chooseDatasets } from '../../src/dataset/dataset.ts';
import { loadJobs } from '../../src/dataset/load-jobs.ts';
import { checksOf } from '../../src/verify/checks/every-check.ts';
import { DEEP, findingsOfHash } from '../../src/ledger/stored-findings.ts';
import { proveRange } from '../../src/verify/prove.ts';
import { formatTime, type Range } from '../../src/range.ts';
import type { TestStore } from '../support/database/database.ts';
import { isThorough, some } from '../support/thorough.ts';
import { openNetworkProof, type Proof } from '../support/verify.ts';

const START = Date.UTC(2026, 4, 2) / 1000;
const CHAIN = ['blocks', 'transactions', 'traces', 'jetton_transfers', 'actions'];

let store: TestStore;
let proof: Proof;
let datasets: Dataset[];
let range: Range;
let close: () => Promise<void>;

// One network for all: each test leaves it as it was, because what it breaks is healed.
beforeAll(async () => {
  ({ store, proof, datasets, range, close } = await openNetworkProof({
    network: { start: START, duration: 400, seed: 8, load: 2, reshardEvery: 15 },
    datasets: CHAIN,
  }));
  await proof.readAgain(datasets, range);
  await proof.verify(datasets, range);
});
afterAll(() => close());

/** How stored rows are spoiled, the check that finds it, and the dataset that loses its certificate. */
interface Spoiled {
  readonly check: string;
  readonly dataset: string;
  readonly statement: string;
}

/** One row in the middle of the range. */
const one = (table: string, where = 'true') =>
  `(select ctid, tableoid from ton.${table} where utime > to_timestamp(${START + 150}) and ${where} order by utime limit 1)`;
const update = (table: string, set: string, where?: string) =>
  `update ton.${table} set ${set} where (ctid, tableoid) in ${one(table, where)}`;
/** Without the seal, which finds a changed key first. */
const unsealed = (table: string) => `update etl.sealed set seconds = '{}' where table_name = '${table}'; `;

const SPOILED: readonly Spoiled[] = [
  {
    check: 'seal',
    dataset: 'blocks',
    statement: `delete from ton.blocks where (ctid, tableoid) in ${one('blocks')}`,
  },
  {
    check: 'blocks',
    dataset: 'blocks',
    statement: update('block_parents', 'parent_seqno = parent_seqno - 7'),
  },
  {
    check: 'block-seconds',
    dataset: 'blocks',
    statement: update('blocks', `utime = utime + interval '7 seconds'`, 'tx_count > 0'),
  },
  {
    check: 'transactions',
    dataset: 'transactions',
    statement: update('transactions', 'block_seqno = block_seqno - 1'),
  },
  { check: 'transactions', dataset: 'transactions', statement: update('transactions', 'block_shard = null') },
  {
    check: 'state-chain',
    dataset: 'transactions',
    statement:
      unsealed('transactions') +
      update('transactions', `account = '-1:${'1'.repeat(64)}'`, 'in_msg_hash is null'),
  },
  {
    check: 'messages',
    dataset: 'transactions',
    statement: update('messages', `destination = '-1:${'1'.repeat(64)}'`),
  },
  {
    check: 'books',
    dataset: 'transactions',
    statement: update('transactions', 'total_fees = total_fees + 1'),
  },
  {
    check: 'traces',
    dataset: 'traces',
    statement: update('traces', `utime = utime + interval '5 seconds'`, 'transactions > 1'),
  },
  {
    check: 'cross-checks',
    dataset: 'jetton_transfers',
    statement:
      unsealed('jetton_transfers') + update('jetton_transfers', `transaction_hash = '${'A'.repeat(43)}='`),
  },
  {
    check: 'actions',
    dataset: 'actions',
    statement: update('action_transactions', `tx_hash = '${'A'.repeat(43)}='`),
  },
  {
    check: 'second-reading',
    dataset: 'jetton_transfers',
    statement: `update etl.coverage set covered = '{}' where pass = 1 and dataset = 'jetton_transfers'`,
  },
  {
    check: 'quarantine',
    dataset: 'transactions',
    statement: `insert into etl.quarantine (dataset, record_id, utime, span, path, reason, raw, request)
      values ('transactions', 'a', to_timestamp(${START + 150}), '[${START + 150},${START + 151})', 'lt', 'is no number', '{}', '/x')`,
  },
];

const GRADES: Readonly<Record<string, string>> = {
  jetton_transfers: 'cross-checked',
  actions: 'cross-checked',
};

/** What `etl.assert_complete` says to do; undefined if the range has its grade. */
async function hintOf(dataset: string): Promise<string | undefined> {
  try {
    await store.database.rows(
      sql`select etl.assert_complete(${dataset}, ${formatTime(range.from)}, ${formatTime(range.to)}, ${GRADES[dataset] ?? 'proved'})`,
      z.unknown(),
    );
    return undefined;
  } catch (error) {
    return (error as { cause: { hint: string } }).cause.hint;
  }
}

/** Does what a hint says. */
async function follow(hint: string): Promise<void> {
  const value = (name: string) => new RegExp(`--${name} (\\S+)`).exec(hint)?.[1];
  const command = /Run: npx toncenter-etl (\w+)/.exec(hint)?.[1];
  if (command === 'quarantine') {
    await store.database.run(sql`delete from etl.quarantine`);
    await proof.verify(datasets, range);
    return;
  }
  if (command === 'why') {
    const hash = hint.split(' ').at(-1)!;
    expect(await findingsOfHash(store.database, hash)).not.toEqual([]);
  }
  const seconds = {
    from: Date.parse(value('from') ?? formatTime(range.from)) / 1000,
    to: Date.parse(value('to') ?? formatTime(range.to)) / 1000,
  };
  const chosen = chooseDatasets(value('only')?.split(',') ?? CHAIN, await loadJobs());
  if (command === 'backfill') {
    await proof.readAgain(chosen, seconds);
    await proof.verify(chosen, seconds);
    return;
  }
  const share = value('deep') === '100%' || command === 'why' ? 1 : 0;
  await proveRange(proof.context, {
    datasets: chosen,
    range: seconds,
    share,
    repair: true,
    random: Math.random,
  });
}

/** Follows hints until there is none, and returns them. */
async function followAll(dataset: string): Promise<string[]> {
  const hints: string[] = [];
  for (
    let hint = await hintOf(dataset);
    hint !== undefined && hints.length < 3;
    hint = await hintOf(dataset)
  ) {
    hints.push(hint);
    await follow(hint);
  }
  expect([hints, await hintOf(dataset)]).toEqual([hints, undefined]);
  return hints;
}

test.each(some(SPOILED, 2))(
  'the hint heals what $check finds: $statement',
  async ({ check, dataset, statement }) => {
    await store.database.script(statement);
    const found = await proof.verify(datasets, range);
    expect(found.flatMap(({ findings }) => findings.map((finding) => finding.check))).toContain(check);
    expect(await followAll(dataset)).not.toEqual([]);
    // Other datasets may have lost their certificates with it.
    for (const other of isThorough ? CHAIN : []) await followAll(other);
  },
);

test('a hint names the dataset that was not read, and the one that the asked one rests on', async () => {
  const later = { from: range.to + 1000, to: range.to + 1060 };
  await store.database.run(
    sql`update etl.coverage set covered = covered + int8multirange(int8range(${later.from}, ${later.to})) where dataset = 'traces' and pass = 0`,
  );
  await proof.verify(datasets, later);
  const [row] = await store.database.rows(
    sql`select etl.way_to('traces', int8multirange(int8range(${later.from}, ${later.to})), true) as traces,
          etl.way_to('blocks', int8multirange(int8range(${later.from}, ${later.to})), true) as blocks`,
    z.record(z.string(), z.string()),
  );
  expect(row?.['traces']).toMatch(/^backfill --from \S+ --to \S+ --only (blocks,)?transactions$/);
  expect(row?.['blocks']).toMatch(/^backfill --from \S+ --to \S+ --only blocks$/);
  await store.database.run(
    sql`update etl.coverage set covered = covered - int8multirange(int8range(${later.from}, ${later.to}))`,
  );
});

test('a hint is called with the variables of the last crawl', async () => {
  await store.database.run(
    sql`update etl.settings set value = value || '{"environment":"TONCENTER_NETWORK=testnet "}' where name = 'caller'`,
  );
  const [row] = await store.database.rows(
    sql`select etl.command('status') as hint`,
    z.object({ hint: z.string() }),
  );
  expect(row?.hint).toBe('Run: TONCENTER_NETWORK=testnet npx toncenter-etl status');
});

test('every check of a dataset has its hint tried', async () => {
  const names = (await loadJobs()).flatMap(({ job }) => checksOf(job).map(({ name }) => name));
  const tried = new Set(SPOILED.map(({ check }) => check));
  expect(
    [...new Set(names)].filter((name) => !tried.has(name) && name !== 'unchecked' && name !== DEEP),
  ).toEqual([]);
});
