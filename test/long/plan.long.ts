import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';
import { startSimulator, type Simulator } from '../support/simulator/simulator.ts';
import { openCli, type Cli } from '../support/program/cli.ts';
import { openTestStore, type TestStore } from '../support/database/database.ts';

/*
 * The noon of each network is ten times as busy as its midnight. `plan` is compared with 75 days: a month of them is
 * empty, and one second holds as much as half an hour. The estimated time left is compared with a run over 25 days that
 * are alike, in small pages. The estimate assumes that the rest is like what was read in the last minutes.
 */

const DAY = 86_400;
const START = Date.UTC(2026, 0, 1) / 1000;
const END = START + 75 * DAY;
const RANGE = ['--from', String(START + DAY), '--to', String(END - DAY)];
const DATASETS = ['transactions', 'jetton_transfers', 'actions'];

let cli: Cli;
let store: TestStore;
let simulator: Simulator;
let settings: Record<string, string>;

beforeAll(async () => {
  cli = await openCli();
  store = await openTestStore();
  simulator = await startSimulator({
    ...networkOf(75),
    load: {
      ...CYCLE,
      dead: [{ from: START + 20 * DAY, to: START + 50 * DAY }],
      bursts: [{ second: START + 10 * DAY + 5000, count: 60 }],
    },
  });
  settings = { DATABASE_URL: store.url, TONCENTER_NETWORK: simulator.url };
}, 300_000);
afterAll(async () => {
  await simulator.close();
  await store.close();
  await cli.close();
});

const CYCLE = { base: 0.03, dayCycle: 9 / 11 };

function networkOf(days: number) {
  return {
    start: START,
    duration: days * DAY,
    masterchainInterval: 900,
    tickTockEvery: 0,
    accounts: 500,
    latencyMs: [20, 60] as const,
    load: CYCLE,
  };
}

const Guess = z.object({ low: z.number(), likely: z.number(), high: z.number() });
const Plan = z.object({ datasets: z.array(z.object({ dataset: z.string(), rows: Guess, requests: Guess })) });
const Line = z.object({ percent: z.number(), seconds: z.number(), etaSeconds: z.number().nullable() });

test('plan is within a factor 1.3, even for rare records, and its bounds hold the truth', async () => {
  const { stdout } = await cli.run(['plan', ...RANGE, '--only', DATASETS.join(), '--json'], {
    ...settings,
    TONCENTER_RPS: '200',
  });
  const { datasets } = Plan.parse(JSON.parse(stdout));
  const span = { from: START + DAY, to: END - DAY };
  const real = [
    ...[[...simulator.truth.transactions(span)].length, [...simulator.truth.jettonTransfers(span)].length],
    [...simulator.truth.actions(span)].length,
  ];
  const rows = DATASETS.map((name) => datasets.find(({ dataset }) => dataset === name)!.rows);
  console.log(
    'expected and real rows:',
    rows.map(({ likely }, index) => [Math.round(likely), real[index]]),
  );
  for (const [index, guess] of rows.entries()) {
    expect(guess.likely / real[index]!).toBeGreaterThan(1 / 1.3);
    expect(guess.likely / real[index]!).toBeLessThan(1.3);
    expect(guess.low).toBeLessThanOrEqual(real[index]!);
    expect(guess.high).toBeGreaterThanOrEqual(real[index]!);
  }
}, 200_000);

test('the time left of days that are alike is right within 25 % at a quarter, half and three quarters, with a restart in between', async () => {
  const alike = await startSimulator({ ...networkOf(25), faults: { maxLimit: 200 } });
  const other = await openTestStore();
  const slow = { DATABASE_URL: other.url, TONCENTER_NETWORK: alike.url, TONCENTER_RPS: '4' };
  const whole = ['--from', String(START + DAY), '--to', String(START + 24 * DAY)];
  const args = ['backfill', ...whole, '--only', 'transactions'];
  const points: { share: number; at: number; eta: number }[] = [];
  const began = performance.now();
  const follow = async (until: number) => {
    const run = cli.start(args, slow);
    run.child.stderr?.on('data', (chunk: Buffer) => {
      for (const text of chunk
        .toString()
        .split('\n')
        .filter((line) => line.startsWith('{"event"'))) {
        const { percent, etaSeconds } = Line.parse(JSON.parse(text));
        if (etaSeconds !== null) points.push({ share: percent, at: performance.now(), eta: etaSeconds });
        if (percent > until) run.child.kill('SIGKILL');
      }
    });
    const { code } = await run.ended;
    return code;
  };
  expect(await follow(30)).toBeNull();
  const gap = performance.now();
  const code = await follow(100.1);
  expect(code).toBe(0);
  const end = performance.now();
  console.log(
    `backfill took ${Math.round((end - began) / 1000)} s, restarted after ${Math.round((gap - began) / 1000)} s`,
  );
  const total = end - began;
  for (const mark of [0.25, 0.5, 0.75]) {
    const point = points.find(({ at }) => at - began >= mark * total)!;
    const real = (end - point.at) / 1000;
    console.log(`at ${Math.round(mark * 100)} %: ${point.eta} s foreseen, ${Math.round(real)} s came`);
    expect(point.eta / real).toBeGreaterThan(0.75);
    expect(point.eta / real).toBeLessThan(1.25);
  }
  await Promise.all([alike.close(), other.close()]);
}, 300_000);
