import { sql, type SQL } from 'drizzle-orm';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { backfill, reachOf } from '../../src/crawl/backfill.ts';
import type { Range } from '../../src/range.ts';
import { startSimulator, type Simulator, type SimulatorOptions } from '../../src/simulator/server.ts';
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

async function crawl(names: string[], options: SimulatorOptions): Promise<Range> {
  simulator = await startSimulator({
    start: START,
    duration: 900,
    seed: 11,
    load: 6,
    accounts: 400,
    ...options,
  });
  const datasets = await datasetsNamed(...names);
  const opened = await openTestCrawl(store, simulator.url);
  try {
    const reach = await reachOf(
      opened.context,
      opened.chain,
      { from: 0, to: opened.chain.last.utime },
      0,
      never.leaving,
    );
    expect(await backfill({ ...opened, datasets, reach, workers: 2, stop: never })).toEqual(new Map());
    return reach.range!;
  } finally {
    await opened.close();
  }
}

async function ids(query: SQL): Promise<string[]> {
  const rows = await store.database.rows(query, z.object({ id: z.string() }));
  return rows.map(({ id }) => id).sort();
}

const between = ({ from, to }: Range) => sql`utime >= to_timestamp(${from}) and utime < to_timestamp(${to})`;

describe.each(['1.2', '1.3'] as const)('from build %s', (build) => {
  test('every trace is stored, with the transactions and messages that its pages carry', async () => {
    const range = await crawl(['traces'], { build });
    const traces = [...simulator.truth.traces(range)];
    expect(await ids(sql`select trace_id as id from ton.traces where ${between(range)}`)).toEqual(
      traces.map(({ trace_id }) => trace_id).sort(),
    );
    const transactions = traces.flatMap(({ transactions_order }) => transactions_order ?? []);
    expect(await ids(sql`select hash as id from ton.transactions`)).toEqual(transactions.sort());
  });

  test('every transfer and burn is stored, though the server shuffles those of one second', async () => {
    const range = await crawl(['jetton_transfers', 'jetton_burns', 'nft_transfers'], { build });
    const expected = {
      jetton_transfers: [...simulator.truth.jettonTransfers(range)],
      jetton_burns: [...simulator.truth.jettonBurns(range)],
      nft_transfers: [...simulator.truth.nftTransfers(range)],
    };
    for (const [table, rows] of Object.entries(expected)) {
      expect(rows.length).toBeGreaterThan(0);
      const stored = await ids(
        sql`select transaction_hash as id from ${sql.raw(`ton.${table}`)} where ${between(range)}`,
      );
      expect(stored).toEqual(rows.map(({ transaction_hash }) => transaction_hash).sort());
    }
  });
});
