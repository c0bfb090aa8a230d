import { sql } from 'drizzle-orm';
import { expect, test } from 'vitest';
import * as z from 'zod';
import { actionTypes } from '../../jobs/actions.ts';
import { fillRange } from '../../src/crawl/streams/read-leases.ts';
import { findReadablePart } from '../../src/crawl/streams/readable-part.ts';
import type { Range } from '../../src/range.ts';
import { startSimulator, type Simulator } from '../support/simulator/simulator.ts';
import { datasetsNamed, never, openTestCrawl } from '../support/crawl.ts';
import { openTestStore } from '../support/database/database.ts';

/*
 * Every forward dataset, on either build, with seconds of 2 to 5000 rows and logical times of up to 900: the
 * stored rows equal the simulator's truth.
 */

const START = Date.UTC(2026, 2, 1) / 1000;
/** Late enough that 5000 items have owners. */
const SECOND = START + 1200;
const COUNTS = [2, 999, 1000, 1001, 5000];

interface Family {
  readonly name: string;
  readonly of?: 'traces' | 'jetton_transfers' | 'jetton_burns' | 'nft_transfers';
  readonly id: string;
  readonly truth: (simulator: Simulator, range: Range) => string[];
}

const FAMILIES: readonly Family[] = [
  {
    name: 'transactions',
    id: 'hash',
    truth: ({ truth }, range) => [...truth.transactions(range)].map(({ hash }) => hash),
  },
  {
    name: 'traces',
    of: 'traces',
    id: 'trace_id',
    truth: ({ truth }, range) => [...truth.traces(range)].map(({ trace_id }) => trace_id),
  },
  {
    name: 'actions',
    of: 'traces',
    id: `trace_id || ' ' || action_id`,
    truth: ({ truth }, range) =>
      [...truth.actions(range, actionTypes)].map(({ trace_id, action_id }) => `${trace_id} ${action_id}`),
  },
  {
    name: 'jetton_transfers',
    of: 'jetton_transfers',
    id: 'transaction_hash',
    truth: ({ truth }, range) =>
      [...truth.jettonTransfers(range)].map(({ transaction_hash }) => transaction_hash),
  },
  {
    name: 'jetton_burns',
    of: 'jetton_burns',
    id: 'transaction_hash',
    truth: ({ truth }, range) =>
      [...truth.jettonBurns(range)].map(({ transaction_hash }) => transaction_hash),
  },
  {
    name: 'nft_transfers',
    of: 'nft_transfers',
    id: 'transaction_hash',
    truth: ({ truth }, range) =>
      [...truth.nftTransfers(range)].map(({ transaction_hash }) => transaction_hash),
  },
];

const CASES = (['1.2', '1.3'] as const).flatMap((build) =>
  FAMILIES.flatMap((family) => [
    ...COUNTS.map((count) => ({ build, family, count, sameLt: false })),
    { build, family, count: 900, sameLt: true },
  ]),
);

test.each(CASES)(
  'build $build, $family.name: $count rows in a second, one lt: $sameLt',
  async ({ build, family, count, sameLt }) => {
    const tie = {
      second: SECOND,
      count,
      ...(sameLt && { sameLt }),
      // Traces cannot share a logical time: the transactions that end them belong to one account.
      ...(family.of !== undefined && !(sameLt && family.of === 'traces') && { of: family.of }),
    };
    const simulator = await startSimulator({
      build,
      start: START,
      duration: 1320,
      load: 3,
      accounts: 2600,
      ties: [tie],
    });
    const store = await openTestStore();
    const crawl = await openTestCrawl(store, simulator.url);
    try {
      const datasets = await datasetsNamed(family.name);
      const readable = await findReadablePart({
        ...crawl,
        wanted: { from: 0, to: crawl.chain.last.utime },
        delaySeconds: 0,
        signal: never.leaving,
      });
      expect(await fillRange({ ...crawl, datasets, readable, stop: never })).toEqual(new Map());
      const { from, to } = readable.range!;
      const rows = await store.database.rows(
        sql`select ${sql.raw(family.id)} as id from ${sql.raw(`ton.${family.name}`)}
            where utime >= to_timestamp(${from}) and utime < to_timestamp(${to})`,
        z.object({ id: z.string() }),
      );
      const expected = family.truth(simulator, readable.range!).sort();
      expect(expected.length).toBeGreaterThanOrEqual(count);
      expect(rows.map(({ id }) => id).sort()).toEqual(expected);
    } finally {
      await crawl.close();
      await store.close();
      await simulator.close();
    }
  },
  60_000,
);
