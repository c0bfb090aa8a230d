import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Simulator, SimulatorOptions } from '../support/simulator/simulator.ts';
import { differences } from '../../tools/proof/differences.ts';
import { datasetsNamed } from '../support/crawl.ts';
import type { TestStore } from '../support/database/database.ts';
import { readVerified } from '../../src/write/certificates.ts';
import { trace_nodes, traces } from '../../src/tables/ton/traces.ts';
import { renewLeases, releaseLease } from '../../src/ledger/leases.ts';
import { reopen } from '../../src/write/take-out.ts';
import { transactions as transactionsTable } from '../../src/tables/ton/transactions.ts';
import { unseal } from '../../src/write/seals.ts';
import { common } from '../../src/range.ts';
import { openNetworkProof, type Proof } from '../support/verify.ts';
import { thorough } from '../support/thorough.ts';

const START = Date.UTC(2026, 2, 1) / 1000;
const NAMES = ['blocks', 'transactions', 'traces'];
const LISTS: Readonly<Record<string, string>> = {
  '/api/v3/blocks': 'blocks',
  '/api/v3/transactions': 'transactions',
  '/api/v3/traces': 'traces',
  '/api/v3/transactionsByMasterchainBlock': 'transactions',
};

let store: TestStore;
let simulator: Simulator;
let proof: Proof;
let close: () => Promise<void>;
/** Hashes that no window of time ever shows. */
const hidden = new Set<string>();
/** The masterchain blocks of requests for transactions. */
const asked: string[] = [];
/** Hashes that no response shows. */
const gone = new Set<string>();

beforeAll(async () => {
  const after: SimulatorOptions['after'] = ({ path, search }, response) => {
    const list = LISTS[path];
    if (list === undefined || response.status !== 200) return response;
    if (path === '/api/v3/transactionsByMasterchainBlock') asked.push(String(search.get('seqno')));
    const isByBlock = search.has('mc_seqno') || search.has('seqno');
    const isShown = (name: string) => !gone.has(name) && (isByBlock || !hidden.has(name));
    const body = JSON.parse(response.body.toString()) as Record<
      string,
      { hash?: string; root_hash?: string; trace_id?: string }[]
    >;
    const shown = body[list]?.filter(({ hash, root_hash, trace_id }) =>
      isShown(hash ?? root_hash ?? trace_id ?? ''),
    );
    return { ...response, body: JSON.stringify({ ...body, [list]: shown }) };
  };
  const network = { start: START, duration: 400, seed: 5, load: 1, reshardEvery: 15, after };
  const opened = await openNetworkProof({ network, datasets: [], config: { attempts: 3 } });
  ({ store, simulator, proof, close } = opened);
});
afterAll(() => close());

test('transactions that no window of time shows are read by masterchain block, and proved', async () => {
  const datasets = await datasetsNamed(...NAMES);
  const transactions = [...simulator.truth.transactions({ from: START + 200, to: START + 400 })];
  for (const { hash, trace_id } of [transactions[0]!, transactions.at(-1)!]) {
    hidden.add(hash);
    hidden.add(trace_id);
  }
  const range = await proof.cover(datasets, await proof.readable());
  // The crawl itself would wait for a block that other blocks name, so the source loses it afterwards.
  const lost = [...simulator.truth.blocks({ from: START + 300, to: START + 310 })].find(
    ({ workchain }) => workchain === 0,
  )!;
  hidden.add(lost.root_hash);
  await store.database.script(`delete from ton.blocks where root_hash = '${lost.root_hash}'`);
  const first = await proof.verify(datasets, range);
  expect(first.map(({ findings }) => findings.length > 0)).toEqual([true, true, true]);
  const { reports } = await proof.repair(datasets, range, first);
  expect(reports.map(({ dataset, verified, findings }) => [dataset.name, verified, findings])).toEqual(
    NAMES.map((name) => [name, [range], []]),
  );
  const left = await differences(store.url, simulator, range, NAMES);
  expect([...left.values()].map(({ size }) => size)).toEqual([0, 0, 0]);
  for (const path of ['masterchainBlockShards', 'transactionsByMasterchainBlock'])
    expect(simulator.stats.byPath.get(`/api/v3/${path}`)).toBeGreaterThan(0);
});

test('if transactions are unavailable, nothing that depends on them is proved any longer, whatever was proved before', async () => {
  const datasets = await datasetsNamed(...NAMES);
  hidden.clear();
  const { range } = await proof.readable();
  const [lost] = [...simulator.truth.transactions({ from: START + 250, to: START + 300 })];
  const { hash, trace_id, now } = lost!;
  gone.add(hash).add(trace_id);
  await store.database.script(`delete from ton.transactions where hash = '${hash}';
    delete from ton.traces where trace_id = '${trace_id}'; delete from ton.trace_nodes where trace_id = '${trace_id}'`);
  for (const table of [traces, trace_nodes]) await unseal(store.database, table, range!);
  const only = datasets.filter(({ name }) => name !== 'traces');
  const second = { from: now, to: now + 1 };
  const certified = async (dataset: string) =>
    common(await readVerified(store.database, { dataset, scope: '', pass: 0 }), [second]);
  expect(await certified('traces')).toEqual([second]);
  await proof.repair(only, range!, await proof.verify(only, range!));
  expect([await certified('transactions'), await certified('traces')]).toEqual([[], []]);
  gone.clear();
  await store.database.script(`update etl.refused set retry_at = now()`);
  await proof.cover(datasets, await proof.readable());
  const { reports } = await proof.repair(datasets, range!, await proof.verify(datasets, range!));
  expect(reports.map(({ verified }) => verified)).toEqual(NAMES.map(() => [range]));
});

thorough(
  'for many small holes each masterchain block is requested once, and no lease is lost meanwhile',
  async () => {
    const datasets = await datasetsNamed('blocks', 'transactions');
    hidden.clear();
    const { range } = await proof.readable();
    const bySecond = new Map<number, string>();
    for (const { hash, now } of simulator.truth.transactions({ from: START + 20, to: START + 380 }))
      if (now % 2 === 0) bySecond.set(now, hash);
    const hashes = [...bySecond.values()];
    expect(hashes.length).toBeGreaterThan(70);
    for (const hash of hashes) hidden.add(hash);
    const names = hashes.map((hash) => `'${hash}'`).join();
    await store.database.script(`delete from ton.transactions where hash in (${names})`);
    await unseal(store.database, transactionsTable, range!);
    asked.length = 0;
    const { reports } = await proof.repair(datasets, range!, await proof.verify(datasets, range!));
    expect(reports.map(({ verified, findings }) => [verified, findings])).toEqual(
      datasets.map(() => [[range], []]),
    );
    expect(asked.length).toBeGreaterThan(50);
    // Two neighbors may share the block at their border if they would be too many together.
    expect(asked.length - new Set(asked).size).toBeLessThanOrEqual(5);
    hidden.clear();
  },
);

test('a block that is not served costs its own hole: the others are read, and it is not requested without end', async () => {
  const datasets = await datasetsNamed('blocks', 'transactions');
  const { range } = await proof.readable();
  const path = '/api/v3/transactionsByMasterchainBlock';
  const [bad, good] = [100, 300].map(
    (at) => [...simulator.truth.transactions({ from: START + at, to: START + at + 20 })][0]!,
  );
  const remove = async () => {
    await store.database.script(
      `delete from ton.transactions where hash in ('${bad!.hash}', '${good!.hash}')`,
    );
    await unseal(store.database, transactionsTable, range!);
  };
  const certifiedOf = async ({ now }: { readonly now: number }) =>
    common(await readVerified(store.database, { dataset: 'transactions', scope: '', pass: 0 }), [
      { from: now, to: now + 1 },
    ]);
  for (const { hash } of [bad!, good!]) hidden.add(hash);
  await remove();
  simulator.faults.unservable = [{ path, member: 'hash', value: bad!.hash }];
  asked.length = 0;
  await proof.repair(datasets, range!, await proof.verify(datasets, range!));
  expect(asked.length).toBeLessThan(60);
  expect(await certifiedOf(good!)).toHaveLength(1);
  expect(await certifiedOf(bad!)).toEqual([]);
  // When it is served, the next repair reads it.
  simulator.faults.unservable = [];
  hidden.clear();
  await store.database.script(`update etl.refused set retry_at = now()`);
  await proof.cover(datasets, await proof.readable());
  const { reports } = await proof.repair(datasets, range!, await proof.verify(datasets, range!));
  expect(reports.map(({ verified }) => verified)).toEqual(datasets.map(() => [range]));
});

test('leases that wait for a reader are kept until one is free', async () => {
  const [transactions] = await datasetsNamed('transactions');
  const { range } = await proof.readable();
  const stream = { dataset: 'transactions', scope: '', pass: 0 };
  const holes = [range!.from + 50, range!.from + 100, range!.from + 150].map((from) => ({
    from,
    to: from + 1,
  }));
  const { owner } = proof.context;
  const leases = await reopen(store.database, { stream, owner, holes, surplus: [], unsealed: [] });
  await store.database.run(sql`update etl.leases set expires_at = clock_timestamp() + interval '1 second'`);
  expect(await renewLeases(store.database, leases)).toEqual(leases);
  await store.database.run(
    sql`update etl.leases set expires_at = clock_timestamp() - interval '1 second' where id = ${leases[0]!.id}`,
  );
  expect(await renewLeases(store.database, leases)).toEqual(leases.slice(1));
  for (const lease of leases) await releaseLease(store.database, lease);
  await proof.cover([transactions!], await proof.readable());
});
