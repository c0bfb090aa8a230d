import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';
import { createStats } from '../../src/api/attempt.ts';
import { createMetrics } from '../../src/daemon/server/metrics.ts';
import { startStatusServer } from '../../src/daemon/server/status-server.ts';
import type { Dataset } from '../../src/dataset/dataset.ts';
import { openDatabase, type Database } from '../../src/postgres/database.ts';
import { createSnapshots } from '../../src/status/snapshot.ts';
import { datasetsNamed, silent, testConfig } from '../support/crawl.ts';
import { openTestStore, type TestStore } from '../support/database/database.ts';
import { untilOneWaits } from '../support/database/until-one-waits.ts';
import { manualClock } from '../support/manual-clock.ts';

let store: TestStore;
/** What a daemon has, with fewer connections. */
let database: Database;
let datasets: Dataset[];

beforeAll(async () => {
  store = await openTestStore();
  database = await openDatabase({ url: store.url, applicationName: 'daemon', maxConnections: 2 });
  datasets = await datasetsNamed('blocks');
});
afterAll(async () => {
  await database.close();
  await store.close();
});

/** Runs `work` while a table that snapshots read is locked, as `alter table` and a dump of the schema do it. */
async function whileLocked(work: (untilRead: () => Promise<void>) => Promise<void>): Promise<void> {
  await store.database.transaction(async (session) => {
    // A busy machine may leave it idle for longer than a crawl's may be.
    await session.run(sql`set local idle_in_transaction_session_timeout = 0`);
    await session.run(sql`lock table etl.cursors in access exclusive mode`);
    await work(() => untilOneWaits(store.database, session, '%"etl"."cursors"%'));
  });
}

function openSnapshots() {
  const clock = manualClock();
  const context = { database, clock };
  return { clock, ask: createSnapshots({ context, datasets, jobs: datasets, config: testConfig() }) };
}

test('a request that comes while a snapshot is read waits for that one, and the crawl keeps its connections', async () => {
  const { clock, ask } = openSnapshots();
  const asked: ReturnType<typeof ask>[] = [];
  await whileLocked(async (untilRead) => {
    for (let second = 0; second < 10; second += 2) {
      asked.push(ask());
      await clock.advance(2000);
    }
    await untilRead();
    for (let page = 0; page < 100; page += 1)
      expect(await database.rows(sql`select 1 as one`, z.object({ one: z.number() }))).toHaveLength(1);
  });
  const [first, ...others] = await Promise.all(asked);
  for (const other of others) expect(other).toBe(first);
  // Its age counts from its end.
  await clock.advance(900);
  expect(await ask()).toBe(first);
  await clock.advance(200);
  expect(await ask()).not.toBe(first);
});

test('/ready and /metrics say within seconds that the database is slow, and afterwards that it is not', async () => {
  const { clock, ask } = openSnapshots();
  const server = await startStatusServer({
    listen: '127.0.0.1:0',
    clock,
    logger: silent,
    metrics: createMetrics(createStats().stats),
    snapshot: ask,
  });
  /** The answer, for which the clock moves on as long as it takes. */
  const textAt = async (path: string) => {
    const waiting = { isOver: false };
    const answer = fetch(`${server.url}${path}`)
      .then((response) => response.text())
      .finally(() => (waiting.isOver = true));
    while (!waiting.isOver) await clock.advance(100);
    return answer;
  };
  const slow = 'the database did not answer within 5 s';
  await whileLocked(async () => {
    for (let scrape = 0; scrape < 3; scrape += 1) {
      expect(JSON.parse(await textAt('/ready'))).toEqual({ ready: false, reasons: [slow] });
      expect(await textAt('/metrics')).toMatch(/^toncenter_etl_database_up 0$/m);
    }
  });
  await ask();
  expect(await (await fetch(`${server.url}/ready`)).text()).not.toContain(slow);
  expect(await (await fetch(`${server.url}/metrics`)).text()).toMatch(/^toncenter_etl_database_up 1$/m);
  await server.close();
});
