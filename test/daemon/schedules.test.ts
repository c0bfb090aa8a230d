import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Crawl } from '../../src/app/open-crawl.ts';
import { streamOf } from '../../src/crawl/streams/planner.ts';
import { runOnce, runSchedules } from '../../src/daemon/daemon.ts';
import { followedDatasets } from '../../src/status/readiness.ts';
import type { Dataset } from '../../src/dataset/dataset.ts';
import { readCoverage, keepWanted } from '../../src/ledger/stored-coverage.ts';
import { common } from '../../src/range.ts';
import { htmlResponse, type HttpResponse } from '../../src/simulator/http/response.ts';
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

/** Answers instead of the simulator while an endpoint is down. */
let down: { readonly path: string; readonly response: HttpResponse } | undefined;
const before = ({ path }: { readonly path: string }) => (path === down?.path ? down.response : undefined);

beforeAll(async () => {
  store = await openTestStore();
  simulator = await startSimulator({ start: START, duration: 1200, load: 3, before });
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
  return { ...crawl, datasets, config: testConfig({ schedules, watermarkDelaySeconds: 10 }), stop: never };
};
const coverageOf = (name: string) =>
  readCoverage(store.database, streamOf(datasets.find((dataset) => dataset.name === name)!));

test('a scheduled dataset is read from ETL_SINCE to the head, at its time', async () => {
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

test('a scheduled range is covered, and costs no request after that', async () => {
  const daemon = daemonWith(`${START + 100} .. ${START + 300} @ 0 3 * * *`);
  const { schedules } = daemon.config;
  expect(followedDatasets(datasets, schedules)).toEqual(datasets);
  await runOnce(daemon, position, schedules[0]!);
  expect(await coverageOf('transactions')).toEqual([{ from: START + 100, to: START + 300 }]);
  const before = simulator.stats.total;
  await runOnce(daemon, position, schedules[0]!);
  expect(simulator.stats.total).toBe(before);
});

test.for([
  ['blocks', 'transactions', 502, '/api/v3/blocks'],
  ['blocks', 'transactions', 503, '/api/v3/blocks'],
  ['transactions', 'blocks', 504, '/api/v3/transactions'],
] as const)(
  '%s does not keep %s from being read while its endpoint answers %i',
  async ([ill, well, status, path]) => {
    const from = START + 300 + (status - 500) * 40;
    const daemon = daemonWith(`${from} .. ${from + 40} @ 0 3 * * *`);
    const finishing = new AbortController();
    const stop = { finishing: finishing.signal, leaving: finishing.signal };
    down = { path, response: htmlResponse(status, 'Down') };
    const running = runOnce({ ...daemon, stop }, position, daemon.config.schedules[0]!);
    const within = async (name: string) => common(await coverageOf(name), [{ from, to: from + 40 }]);
    await expect.poll(() => within(well), { timeout: 10_000 }).toEqual([{ from, to: from + 40 }]);
    expect(await within(ill)).toEqual([]);
    down = undefined;
    finishing.abort();
    await running;
  },
);

test('an unknown dataset of the daemon is refused at the start', () => {
  expect(() => followedDatasets(datasets, parseSchedules('block 2026 .. now @ 0 3 * * *'))).toThrow(
    UsageError,
  );
});
