import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Crawl } from '../../src/app.ts';
import { loadJobs } from '../../src/dataset/load-jobs.ts';
import { streamOf } from '../../src/crawl/streams/streams.ts';
import type { Dataset } from '../../src/dataset/dataset.ts';
import { readCoverage } from '../../src/db/coverage/coverage.ts';
import { lengthOf, type Range, without } from '../../src/range.ts';
import { startSimulator, type Simulator } from '../support/simulator/simulator.ts';
import { openVanished } from '../../src/verify/vanished.ts';
import { never, openTestCrawl } from '../support/crawl.ts';
import { openTestStore, type TestStore } from '../support/database/database.ts';
import { openProof, type Proof } from '../support/verify.ts';

const START = Date.UTC(2026, 6, 1) / 1000;

let store: TestStore;
let simulator: Simulator;
let crawl: Crawl;
let proof: Proof;
let jobs: Dataset[];
let chosen: Dataset[];
let range: Range;

beforeAll(async () => {
  store = await openTestStore();
  simulator = await startSimulator({ start: START, duration: 900, seed: 3, load: 2 });
  crawl = await openTestCrawl(store, simulator.url);
  proof = await openProof(store, crawl);
  jobs = await loadJobs();
  chosen = jobs.filter(({ name }) => ['blocks', 'transactions', 'traces'].includes(name));
  range = await proof.cover(chosen, await proof.reach());
});
afterAll(async () => {
  await crawl.close();
  await simulator.close();
  await store.close();
});

const context = () => ({ database: store.database, jobs, signal: never.finishing });
const covered = (name: string) =>
  readCoverage(store.database, streamOf(chosen.find((dataset) => dataset.name === name)!));

test('nothing is taken out of coverage where nothing has vanished', async () => {
  for (const table of ['blocks', 'transactions', 'messages', 'traces'])
    expect(await openVanished(context(), table, range)).toEqual([]);
  expect(await covered('transactions')).toEqual([range]);
});

test('the minutes of deleted rows are holes of the dataset that the table is for, and heal', async () => {
  const lost = { from: START + 300, to: START + 420 };
  const gone = await store.database.run(
    sql`delete from ton.transactions where utime >= to_timestamp(${lost.from}) and utime < to_timestamp(${lost.to})`,
  );
  expect(gone).toBeGreaterThan(0);
  expect(await openVanished(context(), 'transactions', range)).toEqual([
    { dataset: 'transactions', scope: '', spans: [lost] },
  ]);
  expect(without([range], await covered('transactions'))).toEqual([lost]);
  expect(lengthOf(await covered('traces'))).toBe(range.to - range.from);
  await proof.cover(chosen, { range, watermark: range.to + 9000 });
  expect(await covered('transactions')).toEqual([range]);
  for (const { dataset, findings } of await proof.verify(chosen, range))
    expect([dataset.name, findings]).toEqual([dataset.name, []]);
  expect(await openVanished(context(), 'transactions', range)).toEqual([]);
});
