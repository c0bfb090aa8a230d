import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Crawl } from '../../src/app.ts';
import type { Dataset } from '../../src/dataset/dataset.ts';
import { resetReceipts } from '../../src/db/write/receipt-ledger.ts';
import { jetton_transfers } from '../../src/db/schema/jetton-transfers.ts';
import type { Range } from '../../src/range.ts';
import { startSimulator, type Simulator } from '../support/simulator/simulator.ts';
import { checkDeep } from '../../src/verify/deep.ts';
import type { Verified } from '../../src/verify/verify.ts';
import { datasetsNamed, openTestCrawl } from '../support/crawl.ts';
import { openTestStore, type TestStore } from '../support/database.ts';
import { openProof, type Proof } from '../support/verify.ts';

const START = Date.UTC(2026, 4, 1) / 1000;

let store: TestStore;
let simulator: Simulator;
let crawl: Crawl;
let proof: Proof;
let datasets: Dataset[];
let range: Range;

beforeAll(async () => {
  store = await openTestStore();
  simulator = await startSimulator({ start: START, duration: 600, seed: 8, load: 4 });
  crawl = await openTestCrawl(store, simulator.url);
  proof = await openProof(store, crawl);
  datasets = await datasetsNamed('blocks', 'transactions', 'jetton_transfers');
  range = await proof.cover(datasets, await proof.reach());
  await proof.readAgain(datasets, range);
});
afterAll(async () => {
  await crawl.close();
  await simulator.close();
  await store.close();
});

const kinds = (reports: readonly Verified[]) =>
  reports.flatMap(({ findings }) => findings.map(({ check, kind, count }) => `${check}: ${count} ${kind}`));

const run = (text: string) => store.database.run(sql.raw(text));

describe('what no checksum speaks of', () => {
  test('is seen by --deep alone, and mended', async () => {
    expect(
      await run(`update ton.messages set content_body = 'x' where hash =
        (select hash from ton.messages where content_body is not null order by utime offset 50 limit 1)`),
    ).toBe(1);
    const shallow = await proof.verify(datasets, range);
    expect(kinds(shallow)).toEqual([]);
    const deep = await checkDeep(proof.context, shallow, 1, () => 0.5);
    expect(kinds(deep)).toEqual(['deep: 1 differing_in_messages']);
    const { reports } = await proof.repair(datasets, range, deep);
    expect(kinds(await checkDeep(proof.context, reports, 1, () => 0.5))).toEqual([]);
  });

  test('is not seen where nothing was changed, and costs the share of the pages that was asked for', async () => {
    const reports = await proof.verify(datasets, range);
    const before = simulator.stats.total;
    expect(kinds(await checkDeep(proof.context, reports, 0.01, () => 0.5))).toEqual([]);
    expect(simulator.stats.total - before).toBe(datasets.length);
  });
});

describe('a dataset without a checksum', () => {
  test('is held against the messages that make its rows', async () => {
    await run(`delete from ton.jetton_transfers where transaction_hash =
      (select transaction_hash from ton.jetton_transfers t where exists (select 1 from ton.jetton_transfers o
         where o.source_wallet = t.source_wallet and o.transaction_hash <> t.transaction_hash) limit 1)`);
    await resetReceipts(store.database, jetton_transfers, range);
    const found = await proof.verify(datasets, range);
    expect(kinds(found)).toEqual(['cross-checks: 1 missing_row']);
    const { reports } = await proof.repair(datasets, range, found);
    // Both readings of the second begin anew.
    expect(kinds(reports)).toEqual(['second-reading: 1 read_once']);
    await proof.readAgain(datasets, range);
    const last = await proof.verify(datasets, range);
    expect(last.map(({ verified }) => verified)).toEqual([[range], [range], [range]]);
  });

  test('is not cross-checked before its second reading', async () => {
    await run(`update etl.coverage set covered = '{}' where pass = 1`);
    const [transfers] = (await proof.verify(datasets, range)).filter(
      ({ dataset }) => dataset.name === 'jetton_transfers',
    );
    expect(transfers).toMatchObject({ verified: [], findings: [{ kind: 'read_once', outcome: 'open' }] });
  });
});

test('a quarantined record is a known gap: no certificate, and no reading again', async () => {
  const [gone] = [...simulator.truth.transactions({ from: START + 200, to: START + 400 })];
  await run(`delete from ton.transactions where hash = '${gone!.hash}'`);
  await run(`insert into etl.quarantine (dataset, record_id, utime, path, reason, raw, request)
    values ('transactions', '${gone!.hash}', to_timestamp(${gone!.now}), 'lt', 'is no number', '{}', '/x')`);
  const only = datasets.filter(({ name }) => name === 'transactions');
  for (const table of Object.values(only[0]!.job.tables)) await resetReceipts(store.database, table, range);
  const found = (await proof.verify(only, range)).filter(({ dataset }) => dataset.name === 'transactions');
  expect(found[0]!.verified).toEqual([
    { from: range.from, to: gone!.now },
    { from: gone!.now + 1, to: range.to },
  ]);
  expect(new Set(found[0]!.findings.map(({ outcome }) => outcome))).toEqual(new Set(['known']));
  const before = simulator.stats.byPath.get('/api/v3/transactions');
  await proof.repair(only, range, found);
  expect(simulator.stats.byPath.get('/api/v3/transactions')).toBe(before);
});

test('an answer for another window than the one asked for is refused, also an empty one', async () => {
  const own = await openTestStore();
  let isOther = false;
  const lying = await startSimulator({
    start: START,
    duration: 3000,
    masterchainInterval: 20,
    after: ({ path }, answer) => {
      if (!isOther || !path.startsWith('/api/v3/validators/events')) return answer;
      return { ...answer, body: JSON.stringify({ events: [], start_utime: 1, end_utime: 2 }) };
    },
  });
  const opened = await openTestCrawl(own, lying.url, { maxAttempts: 1 });
  try {
    const of = await openProof(own, opened);
    const events = await datasetsNamed('validator_events');
    const covered = await of.cover(events, await of.reach());
    await of.readAgain(events, covered);
    const reports = await of.verify(events, covered);
    expect((await checkDeep(of.context, reports, 1, () => 0.5))[0]!.checks.at(-1)!.rows).toBeGreaterThan(0);
    isOther = true;
    await expect(checkDeep(of.context, reports, 1, () => 0.5)).rejects.toThrow(
      'the answer says that it is for',
    );
  } finally {
    await opened.close();
    await lying.close();
    await own.close();
  }
});
