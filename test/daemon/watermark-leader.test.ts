import { sql } from 'drizzle-orm';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Crawl } from '../../src/app/open-crawl.ts';
import type { CrawlContext } from '../../src/crawl/crawl-context.ts';
import { fillRange } from '../../src/crawl/streams/read-leases.ts';
import { streamOf } from '../../src/crawl/streams/planner.ts';
import { findReadablePart } from '../../src/crawl/streams/readable-part.ts';
import { readCoverage } from '../../src/ledger/stored-coverage.ts';
import { readSetting } from '../../src/ledger/stored-settings.ts';
import { takeDuty } from '../../src/ledger/leases.ts';
import { WrongNetworkError } from '../../src/errors.ts';
import { createWatermarkLeader } from '../../src/daemon/watermark-leader.ts';
import { startSimulator, type Simulator } from '../support/simulator/simulator.ts';
import { otherNetwork } from '../support/simulator/other-network.ts';
import { datasetsNamed, never, openTestCrawl } from '../support/crawl.ts';
import { keptLog } from '../support/program/log-lines.ts';
import { openTestStore, type TestStore } from '../support/database/database.ts';

const START = Date.UTC(2026, 2, 1) / 1000;

let store: TestStore;
let simulator: Simulator;
let crawl: Crawl;
let isForeign: boolean;

beforeEach(async () => {
  store = await openTestStore();
  isForeign = false;
  const after = otherNetwork(() => isForeign);
  simulator = await startSimulator({ start: START, duration: 1800, headTime: START + 900, load: 1, after });
  crawl = await openTestCrawl(store, simulator.url);
});
afterEach(async () => {
  await crawl.close();
  await simulator.close();
  await store.close();
});

const time = { ms: 0 };

/** A daemon's leader, by a clock that the test moves. */
const leaderOf = (owner: string, { logger }: Partial<CrawlContext> = {}) => {
  const clock = { ...crawl.context.clock, monotonic: () => time.ms, sleep: () => Promise.resolve() };
  const context = { ...crawl.context, clock, ...(logger && { logger }) };
  return createWatermarkLeader({ ...crawl, owner, absentSeconds: 30, delaySeconds: 30, context });
};

const endDuty = () =>
  store.database.run(
    sql`update etl.settings set value = value || '{"until": "2020-01-01"}' where name = 'lookout'`,
  );

test('one of two daemons polls the watermark, and the other uses the result', async () => {
  const [first, second] = [leaderOf('first'), leaderOf('second')];
  const found = await first.poll(never.leaving);
  const asked = simulator.stats.total;
  expect(found).toMatchObject(await second.poll(never.leaving));
  expect(simulator.stats.total).toBe(asked);
  await first.poll(never.leaving);
  expect(simulator.stats.total).toBeGreaterThan(asked);
});

test('what every replica shows is found by one daemon and used by all, unless it waited for less', async () => {
  const alone = leaderOf('first');
  expect(alone.release()).toBe(undefined);
  time.ms = 0;
  const before = await alone.poll(never.leaving);
  simulator.headTime += 20;
  time.ms = 20_000;
  const { utime } = await alone.poll(never.leaving);
  const asked = simulator.stats.total;
  time.ms = 29_000;
  expect(alone.release()).toMatchObject({ dueMs: 30_000 });
  time.ms = 50_000;
  // Everything that the second poll saw, without another one.
  const released = alone.release();
  expect(released).toMatchObject({ dueMs: undefined });
  expect(released?.everywhere).toBeGreaterThan(Math.max(before.everywhere, utime - 30));
  expect(simulator.stats.total).toBe(asked);
  await alone.poll(never.leaving);
  const ofOther = (delaySeconds: number) =>
    createWatermarkLeader({ ...crawl, owner: 'second', absentSeconds: 30, delaySeconds }).poll(never.leaving);
  expect(await ofOther(30)).toMatchObject({ everywhere: released?.everywhere });
  const { everywhere, utime: shared } = await ofOther(60);
  expect(everywhere).toBe(shared - 60);
});

test('if the leader is gone, the other daemon polls', async () => {
  await leaderOf('first').poll(never.leaving);
  await endDuty();
  const asked = simulator.stats.total;
  expect((await leaderOf('second').poll(never.leaving)).utime).toBeGreaterThan(START);
  expect(simulator.stats.total).toBeGreaterThan(asked);
});

test('a process on another network finds no watermark there, and leaves the polls to other processes', async () => {
  const leader = leaderOf('first');
  const { utime } = await leader.poll(never.leaving);
  isForeign = true;
  simulator.headTime += 60;
  await expect(leader.poll(never.leaving)).rejects.toThrow(WrongNetworkError);
  await endDuty();
  await expect(leader.poll(never.leaving)).rejects.toThrow(WrongNetworkError);
  expect((await readSetting(store.database, 'watermark'))?.utime).toBe(utime);
  expect(await takeDuty(store.database, 'watermark', 'second', 30)).toBe(true);
});

test('data that was not polled for a while is released when it has been visible for the delay, whichever process polls meanwhile', async () => {
  const [first, second] = [leaderOf('first'), leaderOf('second')];
  const given: number[] = [];
  const poll = async (leader: typeof first, headTime: number, ms: number) => {
    await endDuty();
    simulator.headTime = headTime;
    time.ms = ms;
    const { utime, head } = await leader.poll(never.leaving);
    given.push(head.utime - utime);
  };
  // No process has polled before.
  await poll(first, START + 900, 0);
  // No process polls for three minutes.
  await poll(second, START + 1080, 5000);
  // The first process, which follows meanwhile, continues from what the second one saw.
  await first.poll(never.leaving);
  await poll(first, START + 1112, 6000);
  // The head does not move while the delay passes.
  await poll(first, START + 1300, 8000);
  await poll(first, START + 1300, 37_000);
  await poll(first, START + 1300, 38_000);
  const places = given.map((lag) => (lag < 15 ? 'near' : lag > 140 ? 'far' : lag));
  expect(places).toEqual(['far', 'far', 'near', 'far', 'far', 'near']);
});

test('the watermark that an earlier version stored is enough to continue', async () => {
  const found = await leaderOf('first').poll(never.leaving);
  await store.database.run(sql`update etl.settings set value = value - 'polls' where name = 'watermark'`);
  await endDuty();
  simulator.headTime = START + 1080;
  const second = leaderOf('second');
  expect((await second.poll(never.leaving)).utime).toBe(found.utime);
  time.ms += 30_000;
  expect((await second.poll(never.leaving)).utime).toBeGreaterThan(START + 1065);
});

test('a backfill reads the rest while it waits for data that was not polled before', async () => {
  await leaderOf('first').poll(never.leaving);
  simulator.headTime = START + 1080;
  const slept: number[] = [];
  const sleep = (ms: number) => {
    time.ms += ms;
    slept.push(ms);
    return Promise.resolve();
  };
  const clock = { ...crawl.context.clock, monotonic: () => time.ms, sleep };
  const context = { ...crawl.context, clock };
  const reading = { ...crawl, context, delaySeconds: 30, signal: never.leaving };
  const seen = { from: START, to: START + 850 };
  expect(await findReadablePart({ ...reading, wanted: seen })).toMatchObject({ range: seen });
  expect(slept).toEqual([]);
  const wanted = { from: START, to: START + 2000 };
  const estimated = await findReadablePart({ ...reading, wanted, isEstimate: true });
  expect(slept).toEqual([]);
  const { range, watermark, held } = await findReadablePart({ ...reading, wanted });
  expect(range).toEqual(estimated.range);
  expect(range?.to).toBeGreaterThan(START + 1030);
  expect(held?.before).toEqual({ from: START, to: watermark - 30 });
  expect(watermark).toBeLessThan(START + 1030);
  expect(slept).toEqual([]);
  // Reading the older part takes ten seconds of the delay.
  time.ms += 10_000;
  expect(await held?.waitUntilSafe()).toBe(estimated.watermark);
  expect(slept).toEqual([20_000]);
});

test('a range that ended at the head when a backfill began is complete after the delay', async () => {
  simulator.headTime = START + 1000;
  const sleep = (ms: number) => {
    time.ms += ms;
    simulator.headTime += ms / 1000;
    return Promise.resolve();
  };
  const clock = { ...crawl.context.clock, monotonic: () => time.ms, sleep };
  const reading = { ...crawl, context: { ...crawl.context, clock }, delaySeconds: 30, signal: never.leaving };
  const wanted = { from: START, to: START + 960 };
  const late = { from: START, to: START + 985 };
  const reached = await findReadablePart({ ...reading, wanted: late });
  // Newer rows are left: they were not there when the backfill began.
  expect(reached.range?.to).toBeLessThan(START + 970);
  expect(await reached.held?.waitUntilSafe()).toBeGreaterThan(START + 1015);
  expect(await findReadablePart({ ...reading, wanted })).toMatchObject({ range: wanted });
});

test('a head that does not move is logged after two minutes, then each time that it has lasted twice as long', async () => {
  const { logger, records } = keptLog();
  const alone = leaderOf('alone', { logger });
  const logged: number[] = [];
  for (time.ms = 0; time.ms <= 700_000; time.ms += 20_000) {
    const before = records.length;
    await alone.poll(never.leaving);
    if (records.length > before) logged.push(time.ms / 1000);
  }
  expect(logged).toEqual([120, 240, 480]);
  expect(records[0]).toMatchObject({ level: 40, seconds: 120 });
  expect(records[0]?.['msg']).toContain('the head does not move: look at the status of the source');
});

test('nothing is read above the head of a source that went back until it has caught up', async () => {
  const { logger, records } = keptLog();
  const leader = leaderOf('first', { logger });
  const [dataset] = await datasetsNamed('transactions');
  time.ms = 0;
  const before = await leader.poll(never.leaving);
  const { database } = store;
  const range = { from: START + 100, to: before.utime };
  await fillRange({
    ...crawl,
    datasets: [dataset!],
    readable: { range, watermark: before.utime },
    stop: never,
  });
  expect(await readCoverage(database, streamOf(dataset!))).toEqual([range]);
  const wentBack = () => records.filter(({ msg }) => msg === 'the source went back');
  // While replicas lag, it may be one of them.
  simulator.headTime = START + 600;
  time.ms = 20_000;
  await leader.poll(never.leaving);
  expect(wentBack()).toEqual([]);
  expect(await readCoverage(database, streamOf(dataset!))).toEqual([range]);
  time.ms = 60_000;
  const after = await leader.poll(never.leaving);
  expect(after.utime).toBeLessThanOrEqual(START + 600);
  expect(after.everywhere).toBeLessThanOrEqual(after.utime);
  const [left] = await readCoverage(database, streamOf(dataset!));
  expect(left!.from).toBe(range.from);
  expect(left!.to).toBeLessThanOrEqual(START + 600);
  // It is logged once, stored for the other processes, and held while it lasts.
  time.ms = 70_000;
  expect(await leader.poll(never.leaving)).toMatchObject({ utime: after.utime });
  expect(wentBack()).toHaveLength(1);
  expect(await leaderOf('second').poll(never.leaving)).toMatchObject({ utime: after.utime });
  simulator.headTime = START + 1000;
  time.ms = 80_000;
  await leader.poll(never.leaving);
  time.ms = 140_000;
  expect((await leader.poll(never.leaving)).utime).toBeGreaterThan(before.utime);
});
