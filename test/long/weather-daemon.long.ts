import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'drizzle-orm';
import { afterEach, beforeEach, expect, test } from 'vitest';
import * as z from 'zod';
import { systemClock, type Clock } from '../../src/clock.ts';
import { streamOf } from '../../src/crawl/streams/planner.ts';
import { runDaemon } from '../../src/daemon/daemon.ts';
import { readCoverage } from '../../src/ledger/stored-coverage.ts';
import { readSetting } from '../../src/ledger/stored-settings.ts';
import type { Range } from '../../src/range.ts';
import type { Stop } from '../../src/stop.ts';
import { datasetsNamed, openTestCrawl, testConfig } from '../support/crawl.ts';
import { openTestStore, type TestStore } from '../support/database/database.ts';
import { keptLog } from '../support/program/log-lines.ts';
import { startSimulator, type Simulator, type SimulatorOptions } from '../support/simulator/simulator.ts';
import { openProof } from '../support/verify.ts';

const NAMES = ['blocks', 'transactions', 'traces'];
const DELAY = 4;

let store: TestStore;
let simulator: Simulator;
let end: () => Promise<void>;

beforeEach(async () => {
  store = await openTestStore();
});
afterEach(async () => {
  await end();
  await simulator.close();
  await store.close();
});

/** Starts a daemon on a network, and returns its warnings. */
async function follow(
  options: SimulatorOptions,
  clock: Partial<Clock> = {},
): Promise<readonly Record<string, unknown>[]> {
  simulator = await startSimulator({ load: 1, accounts: 60, ...options });
  return begin(clock);
}

async function begin(
  clock: Partial<Clock> = {},
  freshnessSeconds = 5,
): Promise<readonly Record<string, unknown>[]> {
  const finishing = new AbortController();
  const stop: Stop = { finishing: finishing.signal, leaving: new AbortController().signal };
  const config = { since: 'first', watermarkDelaySeconds: DELAY, freshnessSeconds, rps: 200 };
  const crawl = await openTestCrawl(store, simulator.url, { stop, config, maxAttempts: 2 });
  const { logger, records } = keptLog();
  const context = { ...crawl.context, logger, clock: { ...systemClock, ...clock } };
  const datasets = await datasetsNamed(...NAMES);
  const daemon = runDaemon({ ...crawl, context, datasets, config: testConfig(config), stop });
  end = async () => {
    finishing.abort();
    await daemon;
    await crawl.close();
  };
  return records;
}

async function coveredOf(name: string): Promise<Range[]> {
  const [dataset] = await datasetsNamed(name);
  return readCoverage(store.database, streamOf(dataset!));
}

/** Waits until every dataset is covered in one piece from the first second to this one. */
async function coversUntil(second: () => number): Promise<void> {
  const covers = async () => {
    const all = await Promise.all(NAMES.map(coveredOf));
    return all.every((ranges) => ranges.length === 1 && ranges[0]!.to >= second());
  };
  await expect.poll(covers, { interval: 100 }).toBe(true);
}

const counted = z.object({ blocks: z.number(), transactions: z.number(), messages: z.number() });

/** Expects that every row before a second is stored, and no other. */
async function expectWhole(from: number, to: number): Promise<void> {
  const of = (table: string) =>
    sql.raw(`(select count(*)::int from ton.${table} where utime < to_timestamp(${to}))`);
  const [row] = await store.database.rows(
    sql`select ${of('blocks')} as blocks, ${of('transactions')} as transactions, ${of('messages')} as messages`,
    counted,
  );
  expect(row).toEqual(simulator.truth.counts({ from, to }));
}

/** A clock that runs so many times as fast as it should. */
const faster = (times: number): Partial<Clock> => ({
  monotonic: () => systemClock.monotonic() * times,
  sleep: (ms, signal) => systemClock.sleep(ms / times, signal),
});

test.each([
  ['ahead of', 5],
  ['behind', -5],
])(
  'a source whose clock is hours %s ours is followed, even while our clock steps back and forward',
  async (_, hours) => {
    const head = Math.floor(Date.now() / 1000) + hours * 3600;
    const start = head - 300;
    let stepMs = 0;
    const warned = await follow({ start, live: { head } }, { now: () => Date.now() + stepMs });
    await coversUntil(() => head - DELAY - 30);
    for (const step of [-2, 3]) {
      stepMs += step * 3_600_000;
      const now = simulator.headTime;
      await coversUntil(() => now);
    }
    await expectWhole(start, head);
    expect(warned).toEqual([]);
  },
);

test('a network that stops for ten minutes is waited for, and continues', async () => {
  const start = Date.UTC(2026, 2, 1) / 1000;
  const warned = await follow({ start, duration: 900, headTime: start + 300 }, faster(60));
  await coversUntil(() => start + 240);
  await delay(10_000);
  expect(warned.filter(({ level }) => Number(level) > 40)).toEqual([]);
  expect(warned.map(({ msg }) => msg)).toContainEqual(expect.stringMatching(/^the head does not move/));
  simulator.headTime = start + 600;
  await coversUntil(() => start + 540);
  await expectWhole(start, start + 540);
});

/** Whether masterchain blocks of the last minutes are missing when the head reaches a second. */
async function hasGap(second: number): Promise<boolean> {
  simulator.headTime = second;
  const query = `workchain=-1&start_utime=${second - 100}&limit=100&sort=asc`;
  const answer: unknown = await (await fetch(`${simulator.url}/api/v3/blocks?${query}`)).json();
  const seqnos = z.object({ blocks: z.array(z.object({ seqno: z.number() })) }).parse(answer).blocks;
  return seqnos.at(-1)!.seqno - seqnos[0]!.seqno !== seqnos.length - 1;
}

/** The second at which the last late block becomes visible. */
async function lateArrival(from: number): Promise<number> {
  for (let gaps = 0, second = from; ; second += 1) {
    const isMissing = await hasGap(second);
    if (!isMissing && gaps > DELAY) return second;
    gaps = isMissing ? gaps + 1 : 0;
  }
}

test('a block that comes late while no process polls is not lost, although most of the servers lack it', async () => {
  const start = Date.UTC(2026, 2, 1) / 1000;
  const network: SimulatorOptions = {
    start,
    duration: 3000,
    load: 4,
    headTime: start + 300,
    faults: { lateBlocks: { probability: 0.03, seconds: 60 } },
  };
  await follow(network, faster(20));
  await coversUntil(() => start + 150);
  await end();
  const second = await lateArrival(start + 500);
  simulator.headTime = second;
  Object.assign(simulator.faults, { stale: 0.9, staleSeconds: DELAY });
  // Our own clock hardly moves: the servers lack the block until the head has moved.
  await begin({ ...faster(20), monotonic: () => systemClock.monotonic() / 10 }, 0.2);
  const polls = async () => (await readSetting(store.database, 'watermark'))?.polls ?? [];
  const passes = async () => (await polls()).some(({ utime }) => utime > second - 50);
  await expect.poll(passes, { interval: 100 }).toBe(true);
  // Of polls that see the same head one is stored.
  const asked = () => simulator.stats.byPath.get('/api/v3/blocks') ?? 0;
  const before = asked();
  await expect.poll(asked, { interval: 100 }).toBeGreaterThan(before + 20);
  simulator.headTime = second + DELAY + 1;
  await coversUntil(() => second - 50);
  await expectWhole(start, second - 50);
});

test('traces that end an hour after they began are found, and seconds that were covered before that are complete', async () => {
  // A source from its first block on.
  const start = Date.UTC(2026, 2, 1) / 1000;
  const silence = { from: start + 300, to: start + 300 + 3600 };
  const network = {
    start,
    duration: 4800,
    load: { base: 2, dead: [silence] },
    headTime: silence.from + 120,
  };
  await follow(network, faster(20));
  await coversUntil(() => silence.from + 60);
  simulator.headTime = silence.to + 600;
  await coversUntil(() => silence.to + 500);
  await end();
  const range = { from: start, to: silence.to + 500 };
  await expectWhole(range.from, range.to);
  const crawl = await openTestCrawl(store, simulator.url);
  const proof = await openProof(store, crawl);
  const reports = await proof.verify(await datasetsNamed(...NAMES), range);
  expect(reports.flatMap(({ findings }) => findings)).toEqual([]);
  const late = await store.database.rows(
    sql`select count(*)::int as count from ton.traces where utime - start_utime > interval '50 minutes'`,
    z.object({ count: z.number() }),
  );
  expect(late[0]?.count).toBeGreaterThan(0);
  await crawl.close();
});
