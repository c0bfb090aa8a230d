import { afterEach, beforeEach, expect, test } from 'vitest';
import { readCoverage } from '../../src/ledger/stored-coverage.ts';
import { streamOf } from '../../src/crawl/streams/planner.ts';
import { readVerified } from '../../src/write/certificates.ts';
import { common, spanOfSecond, without } from '../../src/range.ts';
import { datasetsNamed } from '../support/crawl.ts';
import { openNetworkProof, type NetworkProof } from '../support/verify.ts';
import { some } from '../support/thorough.ts';

const START = Date.UTC(2026, 2, 1) / 1000;
const NAMES = ['blocks', 'transactions', 'traces'];

let opened: NetworkProof;
beforeEach(async () => {
  const network = { start: START, duration: 400, seed: 5, load: 0.5, accounts: 100 };
  opened = await openNetworkProof({ network, datasets: [], hasty: true, config: { attempts: 2 } });
});
afterEach(() => opened.close());

const PATHS = {
  transactions: [
    ['/api/v3/transactions', 'hash'],
    ['/api/v3/transactionsByMasterchainBlock', 'hash'],
  ],
  traces: [['/api/v3/traces', 'trace_id']],
} as const;

/** A transaction, or trace, of the middle of the range. */
function victimOf(name: keyof typeof PATHS): { id: string; utime: number } {
  const middle = { from: START + 200, to: START + 300 };
  const { truth } = opened.simulator;
  const [transaction, trace] = [[...truth.transactions(middle)][3]!, [...truth.traces(middle)][3]!];
  return name === 'transactions'
    ? { id: transaction.hash, utime: transaction.now }
    : { id: trace.trace_id, utime: trace.end_utime };
}

test.each(some(['transactions', 'traces'] as const, 1))(
  'a second with a row of %s that is not served is not certified, and not asked for without end',
  async (name) => {
    const { proof, store, simulator } = opened;
    const datasets = await datasetsNamed(...NAMES);
    const { id, utime } = victimOf(name);
    simulator.faults.unservable = PATHS[name].map(([path, member]) => ({ path, member, value: id }));
    const range = await proof.cover(datasets, await proof.reach());
    const second = spanOfSecond(utime);
    const stream = streamOf(datasets.find((dataset) => dataset.name === name)!);
    expect(without([range], await readCoverage(store.database, stream))).toEqual([second]);
    const certified = async (dataset: string) =>
      readVerified(store.database, { dataset, scope: '', pass: 0 });
    const prove = async () => {
      simulator.stats.clear();
      const reports = await proof.repair(datasets, range, await proof.verify(datasets, range));
      return { reports, requests: simulator.stats.total };
    };
    const { requests } = await prove();
    expect(requests).toBeLessThan(150);
    expect(common(await certified(name), [second])).toEqual([]);
    // What does not rest on it is certified, and once is enough.
    expect(await certified('blocks')).toEqual([range]);
    expect((await prove()).requests).toBeLessThanOrEqual(requests);
    expect(common(await certified(name), [second])).toEqual([]);
    // When it is served, all is.
    simulator.faults.unservable = [];
    await store.database.script(`update etl.refused set retry_at = now()`);
    await proof.cover(datasets, await proof.reach());
    await prove();
    expect(await Promise.all(NAMES.map(certified))).toEqual(NAMES.map(() => [range]));
  },
);

test('a shard state that is not served leaves the proof to another one', async () => {
  const { proof, store, simulator } = opened;
  const datasets = await datasetsNamed('blocks');
  const range = await proof.cover(datasets, await proof.reach());
  const path = '/api/v3/masterchainBlockShardState';
  const before = simulator.stats.byPath.get(path) ?? 0;
  const [first] = await proof.verify(datasets, range);
  expect([first!.findings, first!.verified]).toEqual([[], [range]]);
  expect(simulator.stats.byPath.get(path) ?? 0).toBeGreaterThan(before);
  await store.database.script(`update etl.coverage set verified = '{}'`);
  // Those of a minute behind the range.
  const behind = { from: range.to, to: range.to + 60 };
  simulator.faults.unservable = [...simulator.truth.blocks(behind)]
    .filter(({ workchain }) => workchain === -1)
    .map(({ root_hash: value }) => ({ path, member: 'root_hash', value }));
  const [report] = await proof.verify(datasets, range);
  // Of the range's own last blocks a little less is proved.
  expect(report!.findings.filter(({ outcome }) => outcome !== 'open')).toEqual([]);
  expect(report!.verified[0]!.from).toBe(range.from);
  expect(report!.verified[0]!.to).toBeGreaterThan(range.to - 60);
});
