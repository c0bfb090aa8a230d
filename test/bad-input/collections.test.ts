import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { parseJson } from '../../src/api/read-response.ts';
import { collectRows } from '../../src/dataset/declaration/record.ts';
import { loadDatasets } from '../../src/dataset/load-jobs.ts';
import { splitKinds } from '../../src/dataset/dataset.ts';
import { startSimulator } from '../support/simulator/simulator.ts';
import { expectWritable, harm, harmed } from '../support/samples/bad-values.ts';
import { readOnce, readStreamsOf } from '../support/collections.ts';
import { openTestStore } from '../support/database/database.ts';
import { runs } from '../support/thorough.ts';

const START = Date.UTC(2026, 4, 1) / 1000;
const NETWORK = { start: START, duration: 300, load: 8, accounts: 400, seed: 3 };
const RANGE = { from: START, to: START + 240 };
const ASKED = { at: '2026-05-01T00:00:00Z', key: '1' };

const { collections } = splitKinds(await loadDatasets());
const walks = collections.flatMap(({ name, job }) =>
  job.walks.map((walk) => ({ name, way: walk.name, walk, tables: job.tables })),
);
/** A record of each walk, as the simulator sent it. */
const sent = new Map<object, unknown>();

beforeAll(async () => {
  const [store, simulator] = await Promise.all([openTestStore(), startSimulator(NETWORK)]);
  for (const { walk } of walks) {
    const { read } = walk;
    vi.spyOn(walk, 'read').mockImplementation((records, ...more) => {
      if (records.length > 0) sent.set(walk, records[0]);
      return read(records, ...more);
    });
  }
  const streams = ['blocks', 'transactions', 'actions', 'jetton_transfers', 'nft_transfers'];
  await readStreamsOf(store, simulator.url, RANGE, streams);
  const entities = simulator.truth.entities();
  const vestings = entities.vestings();
  const watched = [
    ...[...entities.balances()].slice(0, 3).map(({ account }) => account),
    ...[...entities.multisigs(false), ...entities.multisigOrders(false), ...vestings].map(
      ({ address }) => address,
    ),
    ...vestings.map(({ owner_address }) => owner_address),
    ...entities.dnsRecords().flatMap(({ dns_wallet }) => dns_wallet ?? []),
  ];
  await store.database.script(
    `insert into etl.watch (address) select unnest('{${watched.join()}}'::text[]) on conflict do nothing`,
  );
  // Only messages without a stored receiver are located.
  await store.database.script(`delete from ton.transactions where lt % 3 = 0`);
  const names = collections.map(({ name }) => name);
  const range = { from: START, to: START + 30 };
  await readOnce(store, simulator.url, names, { range, choices: { accounts: 'seen', bocs: true } });
  vi.restoreAllMocks();
  await simulator.close();
  await store.close();
});
afterAll(() => vi.restoreAllMocks());

test('every walk has been sent a record', () => {
  expect(walks.filter(({ walk }) => !sent.has(walk)).map(({ name, way }) => `${name}, ${way}`)).toEqual([]);
});

describe('a record with arbitrary values', () => {
  test.each(walks)('of $name ($way) becomes rows or goes to quarantine, whole', ({ walk, tables }) => {
    const text = JSON.stringify(sent.get(walk));
    fc.assert(
      fc.property(harm, (changes) => {
        const { fitting, rejected } = walk.read(
          [parseJson(harmed(text, changes)), parseJson(text)],
          ASKED,
          0,
        );
        expect(fitting.length + rejected.length).toBe(2);
        expect(fitting.length).toBeGreaterThan(0);
        for (const { path, reason } of rejected) expect(`${path} ${reason}`.length).toBeGreaterThan(3);
        for (const { put } of fitting) expectWritable(tables, collectRows(tables, put));
      }),
      { numRuns: runs(60), seed: 5 },
    );
  });
});
