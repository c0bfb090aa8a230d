import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, expect } from 'vitest';
import * as z from 'zod';
import { readVerified } from '../../src/write/certificates.ts';
import { lengthOf, type Range } from '../../src/range.ts';
import { proveRange } from '../../src/verify/prove.ts';
import type { Verified } from '../../src/verify/verify.ts';
import { differences } from '../../tools/proof/differences.ts';
import { openNetworkProof, type NetworkProof } from '../support/verify.ts';
import { thorough } from '../support/thorough.ts';

const START = Date.UTC(2026, 4, 1) / 1000;
const NAMES = ['blocks', 'transactions', 'traces'];

let network: NetworkProof;
/** What is read before blocks of it are reorganised. */
let before: Range;
let after: Range;

beforeAll(async () => {
  network = await openNetworkProof({
    network: {
      ...{ start: START, duration: 400, seed: 21, load: 3, accounts: 40 },
      headTime: START + 220,
      faults: { reorganise: { probability: 0.05, seconds: 1e6 } },
    },
    datasets: NAMES,
  });
  before = network.range;
  after = { from: before.to, to: START + 340 };
});
afterAll(() => network.close());

const failing = (reports: readonly Verified[]) =>
  reports.flatMap(({ findings }) => findings.map(({ check, dataset }) => `${dataset} ${check}`));

const verifiedSeconds = async () => {
  const { store, datasets } = network;
  const [transactions] = datasets.filter(({ name }) => name === 'transactions');
  return lengthOf(await readVerified(store.database, { dataset: transactions!.name, scope: '', pass: 0 }));
};

/** Certified traces with a transaction that is not stored. */
const bodilessTraces = () =>
  network.store.database.rows(
    sql`select distinct e.trace_id from ton.trace_nodes e
        join etl.coverage c on c.dataset = 'traces' and c.pass = 0 and c.verified @> extract(epoch from e.utime)::int8
        where not exists (select from ton.transactions t where t.hash = e.tx_hash)`,
    z.object({ trace_id: z.string() }),
  );

thorough(
  'a block that is reorganised after it was covered: the transactions that follow contradict it, and a repair brings what it holds now',
  async () => {
    const { proof, datasets, simulator, store } = network;
    // What the source said agrees with itself.
    expect(failing(await proof.verify(datasets, before))).toEqual([]);
    expect(await verifiedSeconds()).toBe(lengthOf([before]));

    for (const name of Object.keys(simulator.faults)) Reflect.deleteProperty(simulator.faults, name);
    simulator.headTime = START + 400;
    await proof.cover(datasets, { range: after, watermark: after.to });
    const whole = { from: before.from, to: after.to };
    const wrong = await differences(store.url, simulator, whole, NAMES);
    expect(wrong.get('transactions')?.size).toBeGreaterThan(0);

    // The states of accounts lead over the border, from rows that are no longer the source's.
    const found = await proof.verify(datasets, whole);
    expect(failing(found)).toContain('transactions state-chain');
    expect(await verifiedSeconds()).toBeLessThan(lengthOf([whole]));
    // Where only they are repaired, no trace is vouched for that names what they were before.
    const ground = datasets.filter(({ name }) => name !== 'traces');
    await proof.repair(ground, whole, await proof.verify(ground, whole));
    expect(await bodilessTraces()).toEqual([]);
    const { reports } = await proof.repair(datasets, whole, await proof.verify(datasets, whole));
    expect(failing(reports)).toEqual([]);

    // What nothing that follows names only the source can tell.
    const deep = { datasets, range: whole, share: 1, repair: true, random: Math.random };
    const healed = await proveRange(proof.context, deep);
    expect(failing(healed.reports)).toEqual([]);
    for (const [name, seconds] of await differences(store.url, simulator, whole, NAMES))
      expect([name, [...seconds]]).toEqual([name, []]);
    const [rows] = await store.database.rows(
      sql`select (select count(*)::int from ton.blocks) as blocks, (select count(*)::int from ton.transactions) as transactions,
       (select count(*)::int from ton.messages) as messages`,
      z.object({ blocks: z.number(), transactions: z.number(), messages: z.number() }),
    );
    expect(rows).toEqual(simulator.truth.counts(whole));
  },
);
