import { afterAll, beforeAll, expect, test } from 'vitest';
import { addCoverage } from '../../../src/ledger/stored-coverage.ts';
import { planDatasets, type Planned } from '../../../src/crawl/plan/plan-datasets.ts';
import { loadDatasets } from '../../../src/dataset/load-jobs.ts';
import { splitKinds } from '../../../src/dataset/dataset.ts';
import type { Range } from '../../../src/range.ts';
import { datasetsNamed, openTestCrawl, never } from '../../support/crawl.ts';
import { openTestStore, type TestStore } from '../../support/database/database.ts';
import { startSimulator, type Simulator } from '../../support/simulator/simulator.ts';

const START = Date.UTC(2026, 0, 1) / 1000;
const RANGE = { from: START + 30, to: START + 3300 };
const POOLS = ['validator_events', 'nominator_pool_events', 'nominator_events'];

let store: TestStore;
let simulator: Simulator;
beforeAll(async () => {
  store = await openTestStore();
  const burst = { second: START + 1000, count: 120, of: 'pool_events' as const };
  const network = { start: START, duration: 4500, load: 1, accounts: 100, electionSeconds: 1200 };
  simulator = await startSimulator({ ...network, ties: [burst] });
});
afterAll(async () => {
  await simulator.close();
  await store.close();
});

async function planned(names: readonly string[], range: Range): Promise<readonly Planned[]> {
  const crawl = await openTestCrawl(store, simulator.url);
  try {
    const jobs = splitKinds(await loadDatasets()).streams;
    const watermark = START + 4400;
    const options = {
      datasets: await datasetsNamed(...names),
      jobs,
      range,
      watermark,
      signal: never.leaving,
    };
    return (await planDatasets(crawl.context, options)).planned;
  } finally {
    await crawl.close();
  }
}

function rowsOf(name: string, range: Range): number {
  const { truth } = simulator;
  const { pools } = truth;
  const rows: Record<string, readonly object[]> = {
    jetton_burns: [...truth.jettonBurns(range)],
    validator_events: [...truth.validatorEvents(range)],
    nominator_pool_events: pools.flatMap((pool) => [...truth.poolEvents(pool, range)]),
    nominator_events: pools.flatMap((pool) => [...truth.nominatorEvents(pool, range)]),
  };
  return rows[name]!.length;
}

test('all rows of datasets with few of them are counted, once each, even in a burst', async () => {
  simulator.stats.clear();
  const plans = await planned([...POOLS, 'jetton_burns'], RANGE);
  for (const { dataset, estimate } of plans) {
    const real = rowsOf(dataset, RANGE);
    expect(real, dataset).toBeGreaterThan(10);
    expect(estimate.rows.likely, dataset).toBeCloseTo(real, 6);
    expect(estimate.rows.high / estimate.rows.low, dataset).toBeLessThan(1.25);
  }
  // A page that may have been cut is read again in two halves, and by each dataset at most a few times.
  const holders = new Set(
    [...simulator.truth.validatorEvents(RANGE)].map((event) => event.stake_holder_address),
  );
  expect(simulator.stats.byPath.get('/api/v3/staking/nominatorPools/validatorEvents')).toBeLessThan(
    holders.size + 16,
  );
});

test('only missing seconds are counted, however they are spread', async () => {
  const stream = { dataset: 'jetton_burns', scope: '', pass: 0 };
  const hole = { from: START + 700, to: START + 703 };
  const rest = { from: START + 2500, to: RANGE.to };
  await addCoverage(store.database, stream, { from: RANGE.from, to: hole.from });
  await addCoverage(store.database, stream, { from: hole.to, to: rest.from });
  const [plan] = await planned(['jetton_burns'], RANGE);
  expect(plan?.missing).toEqual([hole, rest]);
  expect(plan?.estimate.rows.likely).toBeCloseTo(
    rowsOf('jetton_burns', hole) + rowsOf('jetton_burns', rest),
    6,
  );
});

test('samples lie in what is missing', async () => {
  const stream = { dataset: 'transactions', scope: '', pass: 0 };
  const rest = { from: START + 2800, to: RANGE.to };
  await addCoverage(store.database, stream, { from: RANGE.from, to: rest.from });
  const [plan] = await planned(['transactions'], RANGE);
  const real = simulator.truth.counts(rest).transactions;
  expect(plan?.estimate.rows.likely).toBeCloseTo(real, 6);
});
