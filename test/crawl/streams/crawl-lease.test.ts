import { sql } from 'drizzle-orm';
import { afterEach, beforeEach, expect, test } from 'vitest';
import * as z from 'zod';
import { crawlLease } from '../../../src/crawl/streams/read-leases.ts';
import { streamOf } from '../../../src/crawl/streams/planner.ts';
import { readChainInfo } from '../../../src/crawl/source-chain.ts';
import { isLeased } from '../../../src/ledger/leases.ts';
import { WrongNetworkError } from '../../../src/errors.ts';
import { errorResponse } from '../../../src/simulator/http/response.ts';
import { startSimulator, type Simulator } from '../../support/simulator/simulator.ts';
import { otherNetwork } from '../../support/simulator/other-network.ts';
import { datasetsNamed, never, openTestCrawl } from '../../support/crawl.ts';
import { keptLog } from '../../support/program/log-lines.ts';
import { withBelievingLimits } from '../../support/believing-limits.ts';
import { openTestStore, type TestStore } from '../../support/database/database.ts';

const START = Date.UTC(2026, 2, 1) / 1000;

let store: TestStore;
let simulator: Simulator;

const Tried = z.object({ attempts: z.number() });
const Any = z.object({ one: z.number() });
const Refused = z.object({ span: z.string(), reason: z.string() });

beforeEach(async () => {
  store = await openTestStore();
});
afterEach(async () => {
  await simulator.close();
  await store.close();
});

test('a second for which the server never has time is given up and released', async () => {
  simulator = await startSimulator({ start: START, duration: 900, faults: { timeoutAboveLimit: 0 } });
  const [dataset] = await datasetsNamed('validator_events');
  const crawl = await openTestCrawl(store, simulator.url);
  const second = { from: START + 400, to: START + 401 };
  const stream = streamOf(dataset!);
  const want = { dataset: dataset!, stream, zones: [[second]], priority: 'backfill' as const };
  const assignment = await crawl.planner.take([want]);
  await crawlLease(crawl.context, assignment!, { stop: never });
  expect(await store.database.rows(sql`select span::text, reason from etl.refused`, Refused)).toEqual([
    { span: `[${second.from},${second.to})`, reason: 'failing' },
  ]);
  expect(await isLeased(store.database, [dataset!.name], second)).toBe(false);
  await crawl.close();
});

/** A lease of ten seconds of transactions, which the source refuses while it serves the rest. */
async function openRefused() {
  simulator = await startSimulator({
    start: START,
    duration: 900,
    before: ({ path }) => (path === '/api/v3/transactions' ? errorResponse(403, 'not here') : undefined),
  });
  const [dataset] = await datasetsNamed('transactions');
  const crawl = await openTestCrawl(store, simulator.url);
  const zones = [[{ from: START + 400, to: START + 410 }]];
  const want = { dataset: dataset!, stream: streamOf(dataset!), zones, priority: 'backfill' as const };
  const assignment = await crawl.planner.take([want]);
  return { crawl, want, assignment };
}

test('no other reader gets a failed range before it is refused: it would be requested twice', async () => {
  const { crawl, want, assignment } = await openRefused();
  const { api } = crawl.context;
  const takenByOthers: unknown[] = [];
  // Whether the source answers at all is asked between the failure and the refusal.
  const get: typeof api.get = async (request) => {
    if (request.path === '/api/v3/masterchainInfo') takenByOthers.push(await crawl.planner.take([want]));
    return api.get(request);
  };
  await crawlLease({ ...crawl.context, api: { ...api, get } }, assignment!, { stop: never });
  expect(takenByOthers).toEqual([undefined]);
  expect(await store.database.rows(sql`select attempts from etl.refused`, Tried)).toEqual([{ attempts: 1 }]);
  expect(await isLeased(store.database, ['transactions'], assignment!.lease.span)).toBe(false);
  await crawl.close();
});

test('a page in flight while another network is seen is not written, and its range is released', async () => {
  let isForeign = false;
  simulator = await startSimulator({
    start: START,
    duration: 900,
    after: otherNetwork(() => isForeign),
  });
  const [dataset] = await datasetsNamed('transactions');
  const crawl = await openTestCrawl(store, simulator.url);
  const zones = [[{ from: START + 400, to: START + 410 }]];
  const want = { dataset: dataset!, stream: streamOf(dataset!), zones, priority: 'backfill' as const };
  const { api } = crawl.context;
  // The head is polled between the page's response and its commit; then its own network is back.
  const get: typeof api.get = async (request) => {
    const exchange = await api.get(request);
    if (request.path !== '/api/v3/transactions') return exchange;
    isForeign = true;
    await expect(readChainInfo(api, never.leaving)).rejects.toThrow(WrongNetworkError);
    isForeign = false;
    await readChainInfo(api, never.leaving);
    return exchange;
  };
  const assignment = await crawl.planner.take([want]);
  const reading = crawlLease({ ...crawl.context, api: { ...api, get } }, assignment!, { stop: never });
  await expect(reading).rejects.toThrow('the database holds the simulated network, the API serves testnet');
  expect(await store.database.rows(sql`select 1 as one from ton.transactions limit 1`, Any)).toEqual([]);
  expect(await store.database.rows(sql`select 1 as one from etl.refused limit 1`, Any)).toEqual([]);
  // The process that reads it later writes it.
  const again = await crawl.planner.take([want]);
  expect(again?.lease.span).toEqual(assignment?.lease.span);
  await crawlLease(crawl.context, again!, { stop: never });
  expect(await store.database.rows(sql`select 1 as one from ton.transactions limit 1`, Any)).toHaveLength(1);
  await crawl.close();
});

test('a range that another reader holds meanwhile is not refused by the reader that lost it', async () => {
  const { crawl, want, assignment } = await openRefused();
  const { logger, records } = keptLog();
  const { api } = crawl.context;
  const get: typeof api.get = async (request) => {
    if (request.path === '/api/v3/masterchainInfo') {
      await store.database.run(sql`update etl.leases set expires_at = clock_timestamp()`);
      expect((await crawl.planner.take([want]))?.lease.span).toEqual(assignment!.lease.span);
    }
    return api.get(request);
  };
  await crawlLease({ ...crawl.context, logger, api: { ...api, get } }, assignment!, { stop: never });
  expect(records).toMatchObject([{ msg: 'lease lost', dataset: 'transactions' }]);
  expect(await store.database.rows(sql`select attempts from etl.refused`, Tried)).toEqual([]);
  expect(await isLeased(store.database, ['transactions'], assignment!.lease.span)).toBe(true);
  await crawl.close();
});

test('the part of a lease that another reader got is not refused with the rest', async () => {
  let asked = 0;
  const isSecond = ({ path }: { readonly path: string }) =>
    path === '/api/v3/transactions' && (asked += 1) === 2;
  simulator = await startSimulator({
    start: START,
    duration: 3600,
    load: 20,
    before: (request) => (isSecond(request) ? errorResponse(403, 'not here') : undefined),
  });
  const [dataset] = await datasetsNamed('transactions');
  const crawl = await openTestCrawl(store, simulator.url);
  const zones = [[{ from: START, to: START + 3000 }]];
  const want = { dataset: dataset!, stream: streamOf(dataset!), zones, priority: 'backfill' as const };
  const assignment = await crawl.planner.take([want]);
  const idleReaders = { count: () => 1, wake: () => undefined };
  await crawlLease(crawl.context, assignment!, { stop: never, idleReaders });
  const others = await crawl.planner.take([want]);
  expect(await store.database.rows(sql`select attempts from etl.refused`, Tried)).toEqual([{ attempts: 1 }]);
  expect(others!.lease.span.to).toBe(assignment!.lease.span.to);
  await crawl.close();
});

test('a slow page is a warning that names the page of the manual; other pages log nothing', async () => {
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
    await crawlLease(answeredAfter(ms), (await crawl.planner.take([want]))!, { stop: never });
  };
  await read(14_000, START + 100);
  expect(records).toEqual([]);
  await read(16_000, START + 200);
  expect(records).toMatchObject([{ level: 40, dataset: 'transactions', ms: 16_000 }]);
  expect(records[0]?.['msg']).toContain('slow page: see');
  await crawl.close();
});
