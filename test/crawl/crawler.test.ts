import { afterEach, beforeEach, expect, test } from 'vitest';
import { crawlLease } from '../../src/crawl/crawler.ts';
import { streamOf } from '../../src/crawl/streams.ts';
import { isLeased } from '../../src/db/leases.ts';
import { ApiTimeoutError } from '../../src/errors.ts';
import { startSimulator, type Simulator } from '../../src/simulator/server.ts';
import { datasetsNamed, never, openTestCrawl } from '../support/crawl.ts';
import { openTestStore, type TestStore } from '../support/database.ts';

const START = Date.UTC(2026, 2, 1) / 1000;

let store: TestStore;
let simulator: Simulator;

beforeEach(async () => {
  store = await openTestStore();
});
afterEach(async () => {
  await simulator.close();
  await store.close();
});

test('a second that is asked for whole, and that the server has no time for, is given up and given back', async () => {
  simulator = await startSimulator({ start: START, duration: 900, faults: { timeoutAboveLimit: 999 } });
  const [dataset] = await datasetsNamed('validator_events');
  const crawl = await openTestCrawl(store, simulator.url);
  const second = { from: START + 400, to: START + 401 };
  const stream = streamOf(dataset!);
  const want = { dataset: dataset!, stream, zones: [[second]], priority: 'backfill' as const };
  const assignment = await crawl.planner.take([want]);
  await expect(crawlLease(crawl.context, assignment!, never)).rejects.toThrow(ApiTimeoutError);
  expect(await isLeased(store.database, [dataset!.name], second)).toBe(false);
  await crawl.close();
});
