import { sql } from 'drizzle-orm';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { fillRange } from '../../src/crawl/streams/read-leases.ts';
import { findReadablePart } from '../../src/crawl/streams/readable-part.ts';
import type { CrawlContext } from '../../src/crawl/crawl-context.ts';
import { withBelievingLimits } from '../support/believing-limits.ts';
import { actionTypes } from '../../jobs/actions.ts';
import type { Faults } from '../../src/simulator/faults.ts';
import { startSimulator, type Simulator, type SimulatorOptions } from '../support/simulator/simulator.ts';
import { datasetsNamed, never, openTestCrawl } from '../support/crawl.ts';
import { openTestStore, type TestStore } from '../support/database/database.ts';

const START = Date.UTC(2026, 2, 1) / 1000;
const DATASETS = ['blocks', 'transactions', 'traces', 'actions', 'jetton_transfers'];

let store: TestStore;
let simulator: Simulator | undefined;

beforeEach(async () => {
  store = await openTestStore();
});
afterEach(async () => {
  await simulator?.close();
  await store.close();
});

/** Rows of each dataset's table after a backfill, the rows of the network, and the number of requests. */
async function crawl(
  faults: Faults,
  contextOf = (context: CrawlContext) => context,
  after?: NonNullable<SimulatorOptions['after']>,
) {
  simulator = await startSimulator({
    start: START,
    duration: 240,
    seed: 11,
    load: 6,
    accounts: 400,
    faults,
    ...(after && { after }),
  });
  const opened = await openTestCrawl(store, simulator.url);
  try {
    const wanted = { from: 0, to: opened.chain.last.utime };
    const readable = await findReadablePart({ ...opened, wanted, delaySeconds: 0, signal: never.leaving });
    const datasets = await datasetsNamed(...DATASETS);
    expect(
      await fillRange({
        ...opened,
        context: contextOf(opened.context),
        datasets,
        readable,
        stop: never,
      }),
    ).toEqual(new Map());
    const { truth } = simulator;
    const range = readable.range!;
    const stored: Record<string, number> = {};
    for (const name of DATASETS) {
      const [row] = await store.database.rows(
        sql`select count(*)::int as rows from ${sql.identifier('ton')}.${sql.identifier(name)}
          where utime < to_timestamp(${range.to})`,
        z.object({ rows: z.number() }),
      );
      stored[name] = row!.rows;
    }
    const there = {
      blocks: [...truth.blocks(range)].length,
      transactions: [...truth.transactions(range)].length,
      traces: [...truth.traces(range)].length,
      actions: [...truth.actions(range, actionTypes)].length,
      jetton_transfers: [...truth.jettonTransfers(range)].length,
    };
    return { stored, there, requests: simulator.stats.total };
  } finally {
    await opened.close();
  }
}

describe('a server that caps the limit silently', () => {
  test.each([37, 256])('at %i rows loses none of them', async (capLimit) => {
    const { stored, there } = await crawl({ capLimit });
    expect(there.actions).toBeGreaterThan(50);
    expect(stored).toEqual(there);
    expect(simulator!.stats.byFault.get('capLimit')).toBeGreaterThan(0);
  });
});

test('a server that refuses the limit gets requests with the number that it names', async () => {
  const { stored, there } = await crawl({ maxLimit: 60 });
  expect(stored).toEqual(there);
  expect(simulator!.stats.byStatus.get(422)).toBeLessThanOrEqual(5);
});

test('200 MB of JSON are requested in smaller pages, and no row is lost', async () => {
  const large = Buffer.alloc(2e8, ' ');
  let given = 0;
  const { stored, there } = await crawl({}, withBelievingLimits, ({ path, search }, response) => {
    if (path !== '/api/v3/transactions' || Number(search.get('limit')) <= 250) return response;
    given += 1;
    return { ...response, body: Buffer.concat([Buffer.from(response.body), large]) };
  });
  expect(stored).toEqual(there);
  expect(given).toBeGreaterThan(0);
});

test('a server that gives what is requested gets a few more requests, twice a dataset at most', async () => {
  const careful = await crawl({});
  expect(careful.stored).toEqual(careful.there);
  await simulator?.close();
  await store.close();
  store = await openTestStore();
  const rash = await crawl({}, withBelievingLimits);
  expect(careful.requests - rash.requests).toBeLessThanOrEqual(2 * DATASETS.length);
});
