import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readCoverage } from '../../src/ledger/stored-coverage.ts';
import type { Dataset } from '../../src/dataset/dataset.ts';
import { common } from '../../src/range.ts';
import { datasetsNamed } from '../support/crawl.ts';
import { openNetworkProof, type NetworkProof } from '../support/verify.ts';

const START = Date.UTC(2026, 8, 1) / 1000;
const COUNT = 1200;
/** More than a page of each in a single second. */
const DENSE = { jetton_transfers: START + 100, actions: START + 120 };

let opened: NetworkProof;
let datasets: Dataset[];

beforeAll(async () => {
  const ties = [
    { second: DENSE.jetton_transfers, count: COUNT, of: 'jetton_transfers' as const },
    { second: DENSE.actions, count: COUNT, of: 'traces' as const },
  ];
  const network = { start: START, duration: 140, load: 1, ties };
  opened = await openNetworkProof({ network, datasets: ['blocks', 'transactions', 'traces'] });
  datasets = await datasetsNamed('jetton_transfers', 'actions');
  const { proof, range } = opened;
  await proof.cover(datasets, { range, watermark: range.to + 200_000 });
});
afterAll(() => opened.close());

test.each([
  ['jetton_transfers', 'amount = amount + 1', 'transaction_hash = (select max(transaction_hash) from %s)'],
  ['actions', 'success = not success', 'action_id = (select max(action_id) from %s)'],
] as const)(
  'a second with more than a page of %s is confirmed by a reading that agrees in every row',
  async (name, change, last) => {
    const { store, proof, range } = opened;
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
