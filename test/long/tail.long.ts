import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'drizzle-orm';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import * as z from 'zod';
import { readCoverage } from '../../src/ledger/stored-coverage.ts';
import { createNamed } from '../support/simulator/named.ts';
import { startSimulator, type Simulator, type SimulatorOptions } from '../support/simulator/simulator.ts';
import { openTestStore, type TestStore } from '../support/database/database.ts';
import { openWorkers, type Workers } from '../support/scale/workers.ts';

const SECONDS = Number(process.env['TAIL_SECONDS'] ?? 120);
const WARM_UP = 20;
/** The delay is short, so that the lag that a backfill adds is visible. */
const DELAY = 5;
/** Without backlog, rows are stored within so many seconds after the delay. */
const WITHIN = 5;
const DATASETS = ['blocks', 'transactions'];

/** Percentiles and the maximum. */
function sharesOf(values: readonly number[]) {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (part: number) =>
    Math.round(10 * (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? NaN)) / 10;
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99), most: at(1) };
}

let workers: Workers;
let simulator: Simulator;
let store: TestStore;
beforeAll(async () => {
  workers = await openWorkers();
});
beforeEach(async () => {
  store = await openTestStore();
});
afterEach(async () => {
  await workers.kill();
  await simulator.close();
  await store.close();
});
afterAll(() => workers.close());

/** A daemon that follows a live network, from its head on. */
async function follow(rps: number, options: SimulatorOptions, datasets = DATASETS) {
  const now = Math.floor(Date.now() / 1000);
  simulator = await startSimulator({
    load: 5,
    accounts: 600,
    live: { head: now },
    rateLimit: { kind: 'sliding-window', rps, graceMs: 100 },
    latencyMs: [0, 100],
    ...options,
  });
  const order = { database: store.url, api: simulator.url, rps, datasets };
  await workers.start({ ...order, settings: { ETL_SINCE: 'head', ETL_WATERMARK_DELAY: `${DELAY}s` } });
  await delay(WARM_UP * 1000);
  return order;
}

/** Measures for a while how far coverage is behind the head, and how old rows are when they are stored. */
async function watch() {
  const lags: number[] = [];
  const ages: number[] = [];
  const named: number[] = [];
  const added: number[] = [];
  const namedAt = createNamed(simulator.truth);
  const requests = simulator.stats.total;
  let known = Infinity;
  const end = performance.now() + SECONDS * 1000;
  while (performance.now() < end) {
    await delay(100);
    const covered = await readCoverage(store.database, { dataset: 'transactions', scope: '', pass: 0 });
    const to = covered.at(-1)?.to ?? 0;
    const at = simulator.headTime;
    lags.push(at - to);
    for (const { now: utime } of simulator.truth.transactions({ from: known, to: Math.max(known, to) })) {
      ages.push(at - utime - DELAY);
      named.push(namedAt(utime) - utime);
      added.push(at - namedAt(utime) - DELAY);
    }
    known = to;
  }
  return {
    lag: sharesOf(lags),
    /**
     * For each row, beyond the delay: its age when it is stored, the part that is due to the chain, and the
     * part that is added.
     */
    age: sharesOf(ages),
    named: sharesOf(named),
    added: sharesOf(added),
    rate: (simulator.stats.total - requests) / SECONDS,
  };
}

test.each([
  [10, 5],
  [10, 2],
  [10, 0.5],
  [25, 2],
])(
  'at %i requests/s and a masterchain block each %f s, rows are stored as soon as the chain and the delay allow',
  async (rps, masterchainInterval) => {
    await follow(rps, { masterchainInterval });
    const rest = await watch();
    console.log(`at rest: ${rps}/s, a block each ${masterchainInterval} s`, rest);
    // Blocks that come faster are collected for two seconds.
    expect(rest.added.p50).toBeLessThanOrEqual(masterchainInterval < 1.5 ? 2.5 : 1.5);
    expect(rest.added.p95).toBeLessThanOrEqual(3);
    // If a block comes every five seconds, most rows are not registered earlier.
    if (masterchainInterval < 5) expect(rest.age.p50).toBeLessThanOrEqual(WITHIN);
    expect(rest.rate).toBeLessThanOrEqual(3);
  },
);

test('rows that replicas show as late as the delay allows, and blocks that come late, are not lost', async () => {
  const faults = { stale: 0.5, staleSeconds: DELAY, lateBlocks: { probability: 0.2, seconds: 6 } };
  await follow(25, { faults });
  await delay(SECONDS * 1000);
  const covered = await readCoverage(store.database, { dataset: 'transactions', scope: '', pass: 0 });
  const [row] = await store.database.rows(
    sql`select count(*) as count from ton.transactions where utime < to_timestamp(${covered.at(-1)?.to ?? 0})`,
    z.object({ count: z.coerce.number() }),
  );
  expect(covered).toHaveLength(1);
  for (const range of covered) {
    expect(range.to - range.from).toBeGreaterThan(SECONDS / 2);
    expect(row?.count).toBe(simulator.truth.counts(range).transactions);
  }
});

test.each([10, 25])(
  'at %i requests/s a concurrent backfill adds less than a tenth to the lag of the tail',
  async (rps) => {
    const now = Math.floor(Date.now() / 1000);
    const order = await follow(rps, { start: now - 4 * 3600 });
    const alone = await watch();
    const range = { from: now - 4 * 3600, to: now - 3600 };
    const backfills = await Promise.all([1, 2, 3].map(() => workers.start({ ...order, range, page: 10 })));
    for (const process of backfills) process.send('go');
    await delay(5000);
    const beside = await watch();
    const used = beside.rate / rps;
    console.log(`tail at ${rps}/s`, { alone, beside, used, refused: simulator.stats.byStatus.get(429) ?? 0 });
    expect(used).toBeGreaterThan(0.85);
    // The part that is due to the chain varies by more than a tenth from minute to minute, so it is left out.
    expect(beside.added.p95 - alone.added.p95).toBeLessThanOrEqual(alone.lag.p95 / 10);
    expect(beside.added.p50 - alone.added.p50).toBeLessThanOrEqual(alone.lag.p50 / 10);
  },
);
