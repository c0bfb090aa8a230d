import { sql } from 'drizzle-orm';
import { afterEach, beforeEach, expect, test } from 'vitest';
import * as z from 'zod';
import { readOrRefuse } from '../../../src/crawl/streams/read-leases.ts';
import { streamOf } from '../../../src/crawl/streams/streams.ts';
import { isLeased } from '../../../src/db/coordination/leases.ts';
import { startSimulator, type Simulator } from '../../support/simulator/simulator.ts';
import { datasetsNamed, never, openTestCrawl } from '../../support/crawl.ts';
import { keptLog } from '../../support/program/log-lines.ts';
import { withBelievingLimits } from '../../support/believing-limits.ts';
import { openTestStore, type TestStore } from '../../support/database/database.ts';

const START = Date.UTC(2026, 2, 1) / 1000;

let store: TestStore;
let simulator: Simulator;

const Refused = z.object({ span: z.string(), reason: z.string() });

beforeEach(async () => {
  store = await openTestStore();
});
afterEach(async () => {
  await simulator.close();
  await store.close();
});

test('a second that is asked for whole, and that the server has no time for, is given up and given back', async () => {
  simulator = await startSimulator({ start: START, duration: 900, faults: { timeoutAboveLimit: 999 } });
  const [dataset] = await datasetsNamed('validator_events');
  const crawl = await openTestCrawl(store, simulator.url);
  const second = { from: START + 400, to: START + 401 };
  const stream = streamOf(dataset!);
  const want = { dataset: dataset!, stream, zones: [[second]], priority: 'backfill' as const };
  const assignment = await crawl.planner.take([want]);
  await readOrRefuse(crawl.context, assignment!, { stop: never });
  expect(await store.database.rows(sql`select span::text, reason from etl.refused`, Refused)).toEqual([
    { span: `[${second.from},${second.to})`, reason: 'failing' },
  ]);
  expect(await isLeased(store.database, [dataset!.name], second)).toBe(false);
  await crawl.close();
});

test('a page that took long is a warning that says where to look; others are none', async () => {
  simulator = await startSimulator({ start: START, duration: 900, load: 1 });
  const [dataset] = await datasetsNamed('transactions');
  const crawl = await openTestCrawl(store, simulator.url);
  const { logger, records } = keptLog();
  const answeredAfter = (ms: number): typeof crawl.context => {
    const { api } = crawl.context;
    const get: typeof api.get = async (request) => ({ ...(await api.get(request)), ms });
    return { ...withBelievingLimits(crawl.context), logger, api: { ...api, get } };
  };
  const read = async (ms: number, from: number) => {
    const stream = streamOf(dataset!);
    const want = {
      dataset: dataset!,
      stream,
      priority: 'backfill' as const,
      zones: [[{ from, to: from + 10 }]],
    };
    await readOrRefuse(answeredAfter(ms), (await crawl.planner.take([want]))!, { stop: never });
  };
  await read(14_000, START + 100);
  expect(records).toEqual([]);
  await read(16_000, START + 200);
  expect(records).toMatchObject([{ level: 40, dataset: 'transactions', ms: 16_000 }]);
  expect(records[0]?.['msg']).toContain('slow page: see');
  await crawl.close();
});
