import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { loadJobs } from '../../src/dataset/load-jobs.ts';
import { streamOf } from '../../src/crawl/streams/streams.ts';
import type { Dataset } from '../../src/dataset/dataset.ts';
import { readCoverage } from '../../src/db/coverage/coverage.ts';
import { lengthOf, type Range, without } from '../../src/range.ts';
import { openVanished } from '../../src/verify/vanished.ts';
import { never } from '../support/crawl.ts';
import type { TestStore } from '../support/database/database.ts';
import { openNetworkProof, type Proof } from '../support/verify.ts';

const START = Date.UTC(2026, 6, 1) / 1000;

let store: TestStore;
let proof: Proof;
let jobs: Dataset[];
let chosen: Dataset[];
let range: Range;
let close: () => Promise<void>;

beforeAll(async () => {
  const opened = await openNetworkProof({
    network: { start: START, duration: 900, seed: 3, load: 2 },
    datasets: ['blocks', 'transactions', 'traces'],
  });
  ({ store, proof, datasets: chosen, range, close } = opened);
  jobs = await loadJobs();
});
afterAll(() => close());

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
