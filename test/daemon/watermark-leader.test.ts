import { sql } from 'drizzle-orm';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Crawl } from '../../src/app.ts';
import { createWatermarkLeader } from '../../src/daemon/watermark-leader.ts';
import { startSimulator, type Simulator } from '../support/simulator/simulator.ts';
import { never, openTestCrawl } from '../support/crawl.ts';
import { keptLog } from '../support/program/log-lines.ts';
import { openTestStore, type TestStore } from '../support/database/database.ts';

const START = Date.UTC(2026, 2, 1) / 1000;

let store: TestStore;
let simulator: Simulator;
let crawl: Crawl;

beforeEach(async () => {
  store = await openTestStore();
  simulator = await startSimulator({ start: START, duration: 900, load: 1 });
  crawl = await openTestCrawl(store, simulator.url);
});
afterEach(async () => {
  await crawl.close();
  await simulator.close();
  await store.close();
});

const leaderOf = (owner: string) =>
  createWatermarkLeader({ ...crawl, owner, absentSeconds: 30, delaySeconds: 30 });

test('of two daemons one asks for the watermark, and the other takes what it found', async () => {
  const [first, second] = [leaderOf('first'), leaderOf('second')];
  const found = await first(never.leaving);
  const asked = simulator.stats.total;
  expect(await second(never.leaving)).toEqual(found);
  expect(simulator.stats.total).toBe(asked);
  await first(never.leaving);
  expect(simulator.stats.total).toBeGreaterThan(asked);
});

test('where the one that asks is gone, the other asks', async () => {
  await leaderOf('first')(never.leaving);
  await store.database.run(
    sql`update etl.settings set value = value || '{"until": "2020-01-01"}' where name = 'lookout'`,
  );
  const asked = simulator.stats.total;
  expect((await leaderOf('second')(never.leaving)).utime).toBeGreaterThan(START);
  expect(simulator.stats.total).toBeGreaterThan(asked);
});

test('a head that does not move is logged after two minutes, then each time that it has lasted twice as long', async () => {
  const { logger, records } = keptLog();
  const time = { ms: 0 };
  const clock = { ...crawl.context.clock, monotonic: () => time.ms };
  const poll = createWatermarkLeader({
    ...crawl,
    owner: 'alone',
    absentSeconds: 30,
    delaySeconds: 30,
    context: { ...crawl.context, clock, logger },
  });
  const logged: number[] = [];
  for (; time.ms <= 700_000; time.ms += 20_000) {
    const before = records.length;
    await poll(never.leaving);
    if (records.length > before) logged.push(time.ms / 1000);
  }
  expect(logged).toEqual([120, 240, 480]);
  expect(records[0]).toMatchObject({ level: 40, seconds: 120 });
  expect(records[0]?.['msg']).toContain('the head does not move: look at the status of the source');
});
