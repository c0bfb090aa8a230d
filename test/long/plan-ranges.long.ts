import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';
import { openCli, type Cli } from '../support/program/cli.ts';
import { startSimulator } from '../support/simulator/simulator.ts';
import { openTestStore } from '../support/database/database.ts';

/*
 * Compares the ranges of plan with what a backfill then brings and costs, for ten networks with bursts, quiet
 * hours, pools and rare records.
 */

/** `SEEDS=1,2` chooses some of them. */
const SEEDS = (process.env['SEEDS'] ?? '1,2,3,4,5,6,7,8,9,10').split(',').map(Number);
/** The share of ranges that contain the outcome. */
const LEAST = 0.9;
/** A wider range would be useless. */
const WIDEST = 8;
const START = Date.UTC(2026, 0, 1) / 1000;
const SECONDS = 4500;
const FROM = START + 30;
const TO = START + SECONDS - 1200;
const RANGE = ['--from', String(FROM), '--to', String(TO)];
const ONLY =
  'blocks,transactions,traces,actions,jetton_transfers,jetton_burns,nft_transfers,validator_events,nominator_pool_events';

const Guess = z.object({ low: z.number(), likely: z.number(), high: z.number() });
const Plan = z.object({ total: z.object({ requests: Guess }) });
const Outcome = z.object({
  dataset: z.string(),
  low: z.number(),
  likely: z.number(),
  high: z.number(),
  real: z.number(),
});

let cli: Cli;
beforeAll(async () => {
  cli = await openCli();
});
afterAll(() => cli.close());

/** A number from 0 to 1 that depends only on the network and the position. */
const chance = (seed: number, index: number) => {
  const x = Math.sin(seed * 12.9898 + index * 78.233) * 43_758.5453;
  return x - Math.floor(x);
};

function networkOf(seed: number) {
  const bursts = Array.from({ length: Math.floor(chance(seed, 1) * 12) }, (_, index) => ({
    second: START + 60 + Math.floor(chance(seed, 10 + index) * (SECONDS - 120)),
    count: 20 + Math.floor(chance(seed, 40 + index) * 600),
  }));
  const quiet = START + Math.floor(chance(seed, 2) * SECONDS * 0.7);
  return {
    seed,
    start: START,
    duration: SECONDS,
    accounts: 100 + Math.floor(chance(seed, 3) * 900),
    electionSeconds: 1200,
    load: {
      base: 1 + chance(seed, 4) * 7,
      bursts,
      dead: seed % 3 === 0 ? [{ from: quiet, to: quiet + 600 }] : [],
    },
  };
}

async function planAndRead(seed: number) {
  const [store, simulator] = await Promise.all([openTestStore(), startSimulator(networkOf(seed))]);
  try {
    const settings = { DATABASE_URL: store.url, TONCENTER_NETWORK: simulator.url, TONCENTER_RPS: '500' };
    const { stdout } = await cli.ask(['plan', ...RANGE, '--only', ONLY, '--json'], settings);
    const { total } = Plan.parse(JSON.parse(stdout));
    const before = simulator.stats.total;
    const run = await cli.ask(['backfill', ...RANGE, '--only', ONLY], settings);
    expect(run.code, run.stdout + run.stderr).toBe(0);
    const requests = { dataset: 'requests in all', ...total.requests, real: simulator.stats.total - before };
    const rows = await store.database.rows(
      sql`select dataset, rows_low as low, rows_likely as likely, rows_high as high, rows_real as real from etl.estimates
          where rows_real is not null`,
      Outcome,
    );
    const [stored] = await store.database.rows(
      sql`select count(*)::int as rows from ton.transactions
          where utime >= to_timestamp(${FROM}) and utime < to_timestamp(${TO})`,
      z.object({ rows: z.number() }),
    );
    // Their rows come with traces.
    const real = (row: z.infer<typeof Outcome>) =>
      row.dataset === 'transactions' ? (stored?.rows ?? 0) : row.real;
    return [requests, ...rows.map((row) => ({ ...row, real: real(row) }))];
  } finally {
    await simulator.close();
    await store.close();
  }
}

test('nine of ten ranges of plan contain what a backfill then brings and costs', async () => {
  const outcomes = new Map<string, z.infer<typeof Outcome>[]>();
  for (const seed of SEEDS)
    for (const outcome of await planAndRead(seed))
      outcomes.set(outcome.dataset, [...(outcomes.get(outcome.dataset) ?? []), outcome]);
  for (const [dataset, all] of outcomes) {
    const held = all.filter(({ low, high, real }) => low <= real && real <= high);
    const widths = all.filter(({ real }) => real >= 100).map(({ low, high }) => high / Math.max(1, low));
    console.log(
      `${dataset.padEnd(22)} ${held.length} of ${all.length}:`,
      all.map(({ low, high, real }) => `${Math.round(low)}..${Math.round(high)} ${real}`).join(', '),
    );
    expect.soft(held.length / all.length, dataset).toBeGreaterThanOrEqual(LEAST);
    expect.soft(Math.max(...widths, 1), dataset).toBeLessThanOrEqual(WIDEST);
  }
  expect(outcomes.size).toBe(ONLY.split(',').length + 1);
});
