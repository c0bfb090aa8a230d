import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Simulator, SimulatorOptions } from '../support/simulator/simulator.ts';
import { differences } from '../../tools/proof/differences.ts';
import { datasetsNamed } from '../support/crawl.ts';
import type { TestStore } from '../support/database/database.ts';
import { openNetworkProof, type Proof } from '../support/verify.ts';

const START = Date.UTC(2026, 2, 1) / 1000;
const NAMES = ['blocks', 'transactions', 'traces'];
const LISTS: Readonly<Record<string, string>> = {
  '/api/v3/blocks': 'blocks',
  '/api/v3/transactions': 'transactions',
  '/api/v3/traces': 'traces',
};

let store: TestStore;
let simulator: Simulator;
let proof: Proof;
let close: () => Promise<void>;
/** Hashes that no window of time ever shows. */
const hidden = new Set<string>();

beforeAll(async () => {
  const after: SimulatorOptions['after'] = ({ path, search }, response) => {
    const list = LISTS[path];
    if (list === undefined || search.has('mc_seqno') || response.status !== 200) return response;
    const body = JSON.parse(response.body.toString()) as Record<
      string,
      { hash?: string; root_hash?: string; trace_id?: string }[]
    >;
    const shown = body[list]?.filter(
      ({ hash, root_hash, trace_id }) => !hidden.has(hash ?? root_hash ?? trace_id ?? ''),
    );
    return { ...response, body: JSON.stringify({ ...body, [list]: shown }) };
  };
  const network = { start: START, duration: 600, seed: 5, load: 3, reshardEvery: 15, after };
  const opened = await openNetworkProof({ network, datasets: [], config: { attempts: 3 } });
  ({ store, simulator, proof, close } = opened);
});
afterAll(() => close());

test('what no window of time shows is read by masterchain block, and proved', async () => {
  const datasets = await datasetsNamed(...NAMES);
  const transactions = [...simulator.truth.transactions({ from: START + 200, to: START + 400 })];
  for (const { hash, trace_id } of [transactions[0]!, transactions.at(-1)!]) {
    hidden.add(hash);
    hidden.add(trace_id);
  }
  const range = await proof.cover(datasets, await proof.reach());
  // The crawl itself would wait for a block that others name: the source loses it afterwards.
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
