import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Crawl } from '../../src/app/open-crawl.ts';
import { streamOf } from '../../src/crawl/streams/planner.ts';
import { runOnce, runSchedules } from '../../src/daemon/daemon.ts';
import { followedDatasets } from '../../src/status/readiness.ts';
import type { Dataset } from '../../src/dataset/dataset.ts';
import { readCoverage, keepWanted } from '../../src/ledger/stored-coverage.ts';
import { UsageError } from '../../src/errors.ts';
import { parseSchedules } from '../../src/settings/schedule.ts';
import { startSimulator, type Simulator } from '../support/simulator/simulator.ts';
import { datasetsNamed, never, openTestCrawl, testConfig } from '../support/crawl.ts';
import { openTestStore, type TestStore } from '../support/database/database.ts';

const START = Date.UTC(2026, 3, 1) / 1000;

let store: TestStore;
let simulator: Simulator;
let crawl: Crawl;
let datasets: Dataset[];

beforeAll(async () => {
  store = await openTestStore();
  simulator = await startSimulator({ start: START, duration: 1200, load: 3 });
  crawl = await openTestCrawl(store, simulator.url);
  datasets = await datasetsNamed('blocks', 'transactions');
  for (const { name } of datasets)
    await keepWanted(store.database, name, { since: START + 600, chosen: 'test' });
});
afterAll(async () => {
  await crawl.close();
  await simulator.close();
  await store.close();
});

const position = {
  watermark: {
    utime: START + 1000,
    head: { seqno: 1, utime: START + 1000 },
    newest: START + 1000,
    everywhere: START + 990,
    waitingFor: undefined,
  },
  since: new Map<string, number>(),
};
const daemonWith = (text: string) => {
  const schedules = parseSchedules(text);
  return { ...crawl, datasets, config: testConfig({ schedules, watermarkDelay: 10 }), stop: never };
};
const coverageOf = (name: string) =>
  readCoverage(store.database, streamOf(datasets.find((dataset) => dataset.name === name)!));

test('a dataset that is scheduled is read from ETL_SINCE to the head, at its moment', async () => {
  const daemon = daemonWith('blocks @ * * * * * *');
  expect(followedDatasets(datasets, daemon.config.schedules).map(({ name }) => name)).not.toContain('blocks');
  const finishing = new AbortController();
  const stop = { ...never, finishing: finishing.signal };
  const running = runSchedules({ ...daemon, stop }, position);
  await expect.poll(() => coverageOf('blocks')).toEqual([{ from: START + 600, to: START + 990 }]);
  finishing.abort();
  await running;
  expect(await coverageOf('transactions')).toEqual([]);
});

test('a range that is scheduled is covered, and costs no request once it is', async () => {
  const daemon = daemonWith(`${START + 100} .. ${START + 300} @ 0 3 * * *`);
  const { schedules } = daemon.config;
  expect(followedDatasets(datasets, schedules)).toEqual(datasets);
  await runOnce(daemon, position, schedules[0]!);
  expect(await coverageOf('transactions')).toEqual([{ from: START + 100, to: START + 300 }]);
  const before = simulator.stats.total;
  await runOnce(daemon, position, schedules[0]!);
  expect(simulator.stats.total).toBe(before);
});

test('a name that is no dataset of the daemon’s is refused at the start', () => {
  expect(() => followedDatasets(datasets, parseSchedules('block 2026 .. now @ 0 3 * * *'))).toThrow(
    UsageError,
  );
});
