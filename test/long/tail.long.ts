import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readCoverage } from '../../src/db/coverage/coverage.ts';
import { startSimulator } from '../support/simulator/simulator.ts';
import { openTestStore } from '../support/database/database.ts';
import { openWorkers, type Workers } from '../support/scale/workers.ts';

const SECONDS = Number(process.env['TAIL_SECONDS'] ?? 120);
const WARM_UP = 20;
/** A short delay, so that what a backfill adds to the lag is not lost in it. */
const DELAY = 5;
const DATASETS = ['blocks', 'transactions'];

/** Where so many of them end, and the most. */
function sharesOf(values: readonly number[]) {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (part: number) =>
    Math.round(10 * (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? NaN)) / 10;
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99), most: at(1) };
}

let workers: Workers;
beforeAll(async () => {
  workers = await openWorkers();
});
afterAll(() => workers.close());

test.each([10, 25])(
  'at %i requests/s a backfill beside it adds less than a tenth to the lag of the tail',
  async (rps) => {
    const now = Math.floor(Date.now() / 1000);
    const simulator = await startSimulator({
      start: now - 4 * 3600,
      load: 5,
      accounts: 600,
      live: { head: now },
      rateLimit: { kind: 'sliding-window', rps, graceMs: 100 },
      latencyMs: [0, 100],
    });
    const store = await openTestStore();
    const order = { database: store.url, api: simulator.url, rps, datasets: DATASETS };
    const settings = { ETL_SINCE: 'head', ETL_WATERMARK_DELAY: `${DELAY}s` };
    const lagOf = async () => {
      const lags: number[] = [];
      const ages: number[] = [];
      let known = Infinity;
      const end = performance.now() + SECONDS * 1000;
      while (performance.now() < end) {
        await delay(200);
        const covered = await readCoverage(store.database, { dataset: 'transactions', scope: '', pass: 0 });
        const to = covered.at(-1)?.to ?? 0;
        lags.push(simulator.headTime - to);
        const came = [...simulator.truth.transactions({ from: known, to: Math.max(known, to) })];
        ages.push(...came.map(({ now: utime }) => simulator.headTime - utime));
        known = to;
      }
      return { ...sharesOf(lags), oldest: sharesOf(ages).most };
    };
    await workers.start({ ...order, settings });
    await delay(WARM_UP * 1000);
    const alone = await lagOf();
    const range = { from: now - 4 * 3600, to: now - 3600 };
    const backfills = await Promise.all([1, 2, 3].map(() => workers.start({ ...order, range, page: 10 })));
    for (const process of backfills) process.send('go');
    await delay(5000);
    const before = simulator.stats.total;
    const beside = await lagOf();
    const used = (simulator.stats.total - before) / (rps * SECONDS);
    console.log(`tail at ${rps}/s`, { alone, beside, used, refused: simulator.stats.byStatus.get(429) ?? 0 });
    await workers.kill();
    await simulator.close();
    await store.close();
    expect(used).toBeGreaterThan(0.85);
    expect(beside.p95).toBeLessThanOrEqual(alone.p95 * 1.1);
  },
);
