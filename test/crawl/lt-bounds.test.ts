import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { fillRange } from '../../src/crawl/streams/read-leases.ts';
import type { CrawlContext } from '../../src/crawl/crawl-context.ts';
import { findReadablePart } from '../../src/crawl/streams/readable-part.ts';
import { actionTypes } from '../../jobs/actions.ts';
import { errorResponse } from '../../src/simulator/http/response.ts';
import type { Range } from '../../src/range.ts';
import { select } from '../support/collections.ts';
import { datasetsNamed, never, openTestCrawl } from '../support/crawl.ts';
import { openTestStore, type TestStore } from '../support/database/database.ts';
import { startSimulator, type Simulator } from '../support/simulator/simulator.ts';
import { thorough } from '../support/thorough.ts';

const START = Date.UTC(2026, 2, 1) / 1000;
const DURATION = 2400;

let store: TestStore;
let simulator: Simulator;
let isWithoutBlocks = false;
beforeAll(async () => {
  store = await openTestStore();
  simulator = await startSimulator({
    start: START,
    duration: DURATION,
    seed: 5,
    load: 2,
    accounts: 600,
    after: ({ path, search }, response) =>
      isWithoutBlocks && path === '/api/v3/blocks' && search.has('workchain')
        ? errorResponse(404, 'not here')
        : response,
  });
});
afterAll(async () => {
  await simulator.close();
  await store.close();
});

async function crawl(names: readonly string[], into = store) {
  const opened = await openTestCrawl(into, simulator.url, { maxAttempts: 1 });
  try {
    const wanted = { from: 0, to: opened.chain.last.utime };
    const readable = await findReadablePart({ ...opened, wanted, delaySeconds: 0, signal: never.leaving });
    const datasets = await datasetsNamed(...names);
    const missing = await fillRange({ ...opened, datasets, readable, stop: never });
    return { missing, range: readable.range! };
  } finally {
    await opened.close();
  }
}

async function storedActions(range: Range, from = store): Promise<number> {
  const [row] = await select(
    from,
    `select count(*)::int as rows from ton.actions where utime < to_timestamp(${range.to})`,
  );
  return Number(row?.['rows']);
}

async function expectBounds({ lts }: CrawlContext): Promise<void> {
  const asking = { priority: 'backfill', signal: never.leaving } as const;
  let bounded = 0;
  for (const length of [1, 7, 40, 300])
    for (let from = START + 1; from < START + DURATION; from += 157) {
      const seconds = { from, to: from + length };
      const { start = 0n, end = 2n ** 63n } = await lts.of(seconds, asking);
      const ends = [...simulator.truth.traces(seconds)].map(({ end_lt }) => BigInt(end_lt));
      expect(ends.filter((lt) => lt <= start || lt >= end)).toEqual([]);
      if (start > 0n && end < 2n ** 63n) bounded += ends.length;
    }
  expect(bounded).toBeGreaterThan(1000);
}

describe('logical times of seconds', () => {
  test('contain every trace that ends in them, although shards advance at their own pace; from the API, with one request for minutes', async () => {
    const opened = await openTestCrawl(store, simulator.url);
    try {
      simulator.stats.clear();
      await expectBounds(opened.context);
      // The blocks of one request are enough for half an hour.
      expect(simulator.stats.byPath.get('/api/v3/blocks')).toBeLessThan(20);
    } finally {
      await opened.close();
    }
  });

  thorough('let a server return actions without scanning all of them', async () => {
    // All of them together take longer than a query may take.
    const all = [...simulator.truth.traces({ from: 0, to: 2 ** 32 })].length;
    simulator.faults.scanSpeed = Math.ceil(all / 3.2);
    simulator.stats.clear();
    const { missing, range } = await crawl(['actions']);
    delete simulator.faults.scanSpeed;
    expect(missing).toEqual(new Map());
    expect(await storedActions(range)).toBe([...simulator.truth.actions(range, actionTypes)].length);
  });

  test('are left out if the source has no blocks', async () => {
    const empty = await openTestStore();
    try {
      simulator.stats.clear();
      isWithoutBlocks = true;
      const { missing, range } = await crawl(['actions'], empty);
      isWithoutBlocks = false;
      expect(missing).toEqual(new Map());
      expect(await storedActions(range, empty)).toBe([...simulator.truth.actions(range, actionTypes)].length);
      expect(simulator.stats.byPath.get('/api/v3/blocks')).toBeGreaterThan(2);
    } finally {
      await empty.close();
    }
  });

  test('are taken from stored blocks if there are any', async () => {
    await crawl(['blocks']);
    const opened = await openTestCrawl(store, simulator.url);
    try {
      const { api, ...context } = opened.context;
      simulator.stats.clear();
      const asking = { priority: 'backfill', signal: never.leaving } as const;
      const middle = { from: START + 400, to: START + 500 };
      const bounds = await context.lts.of(middle, asking);
      expect(typeof bounds.start).toBe('bigint');
      expect(simulator.stats.total).toBe(0);
      await expectBounds({ ...context, api });
    } finally {
      await opened.close();
    }
  });
});
