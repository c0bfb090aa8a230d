import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Crawl } from '../../src/app.ts';
import { readCoverage } from '../../src/db/coverage/coverage.ts';
import type { Dataset } from '../../src/dataset/dataset.ts';
import { common, type Range } from '../../src/range.ts';
import { datasetsNamed, openTestCrawl } from '../support/crawl.ts';
import { openTestStore, type TestStore } from '../support/database/database.ts';
import { startSimulator, type Simulator } from '../support/simulator/simulator.ts';
import { openProof, type Proof } from '../support/verify.ts';

const START = Date.UTC(2026, 8, 1) / 1000;
const COUNT = 1200;
/** More than a page of each in a single second. */
const DENSE = { jetton_transfers: START + 100, actions: START + 120 };

let store: TestStore;
let simulator: Simulator;
let crawl: Crawl;
let proof: Proof;
let datasets: Dataset[];
let range: Range;

beforeAll(async () => {
  store = await openTestStore();
  simulator = await startSimulator({
    start: START,
    duration: 140,
    load: 1,
    ties: [
      { second: DENSE.jetton_transfers, count: COUNT, of: 'jetton_transfers' },
      { second: DENSE.actions, count: COUNT, of: 'traces' },
    ],
  });
  crawl = await openTestCrawl(store, simulator.url);
  proof = await openProof(store, crawl);
  datasets = await datasetsNamed('jetton_transfers', 'actions');
  range = await proof.cover(await datasetsNamed('blocks', 'transactions', 'traces'), await proof.reach());
  await proof.cover(datasets, { range, watermark: range.to + 200_000 });
});
afterAll(async () => {
  await crawl.close();
  await simulator.close();
  await store.close();
});

test.each([
  ['jetton_transfers', 'amount = amount + 1', 'transaction_hash = (select max(transaction_hash) from %s)'],
  ['actions', 'success = not success', 'action_id = (select max(action_id) from %s)'],
] as const)(
  'a second of more than a page of %s is confirmed by a reading that agrees in every row',
  async (name, change, last) => {
    const second = { from: DENSE[name], to: DENSE[name] + 1 };
    const dense = `ton.${name} where utime = to_timestamp(${second.from})`;
    expect(await store.database.run(sql.raw(`select 1 from ${dense}`))).toBe(COUNT);
    const only = datasets.filter((dataset) => dataset.name === name);
    const confirmed = async () =>
      common(await readCoverage(store.database, { dataset: name, scope: '', pass: 1 }), [second]);
    await store.database.run(sql.raw(`update ton.${name} set ${change} where ${last.replace('%s', dense)}`));
    await proof.readAgain(only, range);
    expect(await confirmed()).toEqual([]);
    await proof.readAgain(only, range);
    expect(await confirmed()).toEqual([second]);
    const reports = await proof.verify(only, range);
    expect(reports.map(({ verified }) => verified)).toEqual(reports.map(() => [range]));
  },
);
