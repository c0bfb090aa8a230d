import { sql } from 'drizzle-orm';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Crawl } from '../../src/app/open-crawl.ts';
import { fillRange } from '../../src/crawl/streams/read-leases.ts';
import type { Dataset } from '../../src/dataset/dataset.ts';
import { readCoverage } from '../../src/ledger/stored-coverage.ts';
import type { Range } from '../../src/range.ts';
import type { Simulator } from '../support/simulator/simulator.ts';
import { deriveTransactions } from '../../src/verify/derive.ts';
import { differences } from '../../tools/proof/differences.ts';
import { datasetsNamed, never } from '../support/crawl.ts';
import type { TestStore } from '../support/database/database.ts';
import { openNetworkProof, type Proof } from '../support/verify.ts';
import { thorough } from '../support/thorough.ts';

const START = Date.UTC(2026, 2, 1) / 1000;
const NAMES = ['blocks', 'transactions', 'traces'];
const TRANSACTIONS = { dataset: 'transactions', scope: '', pass: 0 };

let store: TestStore;
let simulator: Simulator;
let crawl: Crawl;
let proof: Proof;
let range: Range;
let close: () => Promise<void>;

beforeEach(async () => {
  const network = { start: START, duration: 600, seed: 5, load: 4, reshardEvery: 60 };
  const opened = await openNetworkProof({ network, datasets: ['blocks', 'traces'] });
  ({ store, simulator, crawl, proof, range, close } = opened);
});
afterEach(() => close());

const derive = (wanted: Range) => deriveTransactions({ ...proof.context, stop: never }, wanted);
const asked = () => simulator.stats.requests.filter(({ path }) => path === '/api/v3/transactions').length;

async function cover(datasets: readonly Dataset[]): Promise<void> {
  const readable = { range, watermark: range.to };
  const derived = { dataset: 'transactions', derive };
  const missing = await fillRange({ ...crawl, datasets, readable, derived, stop: never });
  expect(missing).toEqual(new Map());
}

thorough('rows that traces have brought are not requested again, and all of them are stored', async () => {
  const rows = [...simulator.truth.transactions(range)].length;
  await cover(await datasetsNamed(...NAMES));
  expect(rows).toBeGreaterThan(2000);
  // The last traces of the range have not ended in it, so their transactions are requested.
  expect(asked()).toBeLessThanOrEqual(2);
  const found = await differences(store.url, simulator, range, NAMES);
  expect([...found].map(([name, seconds]) => [name, [...seconds]])).toEqual([
    ['blocks', []],
    ['transactions', []],
    ['traces', []],
  ]);
});

test('a second that lacks a transaction is left to be read', async () => {
  const lacking = START + 400;
  const taken = await store.database.run(
    sql`delete from ton.transactions where utime = to_timestamp(${lacking})`,
  );
  expect(taken).toBeGreaterThan(0);
  expect(await derive(range)).toBeGreaterThan(500);
  const covered = await readCoverage(store.database, TRANSACTIONS);
  expect(covered.some(({ from, to }) => from <= lacking && lacking < to)).toBe(false);
  expect(covered.some(({ from, to }) => from <= START + 100 && START + 100 < to)).toBe(true);
});

test('a second that lacks a block is left to be read, whatever traces brought', async () => {
  const lacking = START + 400;
  await store.database.run(sql`
    delete from ton.blocks where utime = to_timestamp(${lacking}) and workchain = 0`);
  await derive(range);
  const covered = await readCoverage(store.database, TRANSACTIONS);
  expect(covered.some(({ from, to }) => from <= lacking && lacking < to)).toBe(false);
});

test('nothing is derived if blocks are not covered, and nothing is requested', async () => {
  await store.database.run(sql`update etl.coverage set covered = '{}' where dataset = 'blocks'`);
  const before = simulator.stats.total;
  expect(await derive(range)).toBe(0);
  expect(simulator.stats.total).toBe(before);
});

test('a range that another process reads is left to it', async () => {
  await store.database.run(sql`
    insert into etl.leases (dataset, scope, pass, span, owner, priority, expires_at)
    values ('transactions', '', 0, int8range(${range.from}::int8, ${range.to}::int8), 'other', 'backfill',
      clock_timestamp() + interval '1 min')`);
  expect(await derive(range)).toBe(0);
});
