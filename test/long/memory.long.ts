import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { readCoverage } from '../../src/ledger/stored-coverage.ts';
import { lengthOf } from '../../src/range.ts';
import { openTestStore, type TestStore } from '../support/database/database.ts';
import { nodeOptionsOf } from '../support/program/node-options.ts';
import { residentMemory } from '../support/resident-memory.ts';
import { openCli, type Cli, type RunningCli } from '../support/program/cli.ts';

/*
 * The resident memory of the program while it reads dense history: all datasets, pages of 1000 transactions,
 * of 4 MB and more. docs/scaling.md promises the limits.
 */

const START = Date.UTC(2026, 2, 1) / 1000;
const HOURS = Number(process.env['MEMORY_HOURS'] ?? 0.5);
const RATE = 40;
/** The range ends before the network does: new rows are held back for a while. */
const END = START + HOURS * 3600 - 400;
const LIMIT_MB = { backfill: 300, sync: 350 };
const BIG = ['transactions', 'traces', 'actions', 'blocks', 'jetton_transfers'];
const SAMPLE_MS = 200;
/** The image and the units of `deploy/systemd` set this: it matters from Node 24 on. */
const AS_DEPLOYED = nodeOptionsOf(await readFile(new URL('../../Dockerfile', import.meta.url), 'utf8'));

let cli: Cli;
let store: TestStore;
let simulator: RunningCli;
let settings: Record<string, string>;
beforeAll(async () => {
  [cli, store] = await Promise.all([openCli(), openTestStore()]);
}, 120_000);
beforeEach(serve);
// It also runs after a failed test: otherwise the next one would find its history stored.
afterEach(forget);
afterAll(async () => {
  await cli.close();
  await store.close();
});

/** Serves a network of its own, so that each run begins with nothing stored. */
async function serve(): Promise<void> {
  const network = ['--from', String(START), '--hours', String(HOURS), '--tx-per-second', String(RATE)];
  simulator = cli.start(['simulate', ...network, '--latency', '50-300']);
  const line = await simulator.sees(/http:\/\/\S+?(?=\/api)/);
  settings = {
    DATABASE_URL: store.url,
    TONCENTER_NETWORK: line,
    TONCENTER_RPS: '25',
    ETL_DATASETS: 'all',
    ETL_SINCE: 'first',
    NODE_OPTIONS: AS_DEPLOYED,
  };
}

/** The peak of a process's resident memory, and the median until then, in megabytes. */
async function memoryOf({ child, ended }: RunningCli, isDone: () => Promise<boolean>) {
  const resident: number[] = [];
  let most = 0;
  const over = new AbortController();
  void ended.then(() => over.abort());
  while (!over.signal.aborted && !(await isDone())) {
    const memory = residentMemory(child.pid ?? 0);
    most = Math.max(most, memory?.mostMb ?? 0);
    if (memory !== undefined) resident.push(memory.nowMb);
    await delay(SAMPLE_MS, undefined, { signal: over.signal }).catch(() => undefined);
  }
  const median = resident.toSorted((a, b) => a - b)[Math.floor(resident.length / 2)] ?? NaN;
  return { mostMb: Math.round(most), medianMb: Math.round(median) };
}

async function coveredSeconds(): Promise<number> {
  const lengths = await Promise.all(
    BIG.map(async (dataset) => lengthOf(await readCoverage(store.database, { dataset, scope: '', pass: 0 }))),
  );
  return Math.min(...lengths);
}

async function forget(): Promise<void> {
  simulator.child.kill('SIGTERM');
  await simulator.ended;
  await store.close();
  store = await openTestStore();
}

test(`a backfill of all datasets has at most ${LIMIT_MB.backfill} MB resident`, async () => {
  const range = ['--from', String(START), '--to', String(END)];
  const run = cli.start(['backfill', ...range, '--quiet'], settings);
  const memory = await memoryOf(run, () => Promise.resolve(false));
  const { code, stderr } = await run.ended;
  console.log('backfill', memory);
  // Some datasets are served with a delay, so their last seconds are missing.
  expect({ code, stderr }).toMatchObject({
    code: expect.toSatisfy((is) => is === 0 || is === 3) as number,
  });
  expect(await coveredSeconds()).toBeGreaterThanOrEqual(END - START - 1);
  expect(memory.mostMb).toBeLessThanOrEqual(LIMIT_MB.backfill);
}, 1_200_000);

test(`sync, which reads all of this history, has at most ${LIMIT_MB.sync} MB resident`, async () => {
  const run = cli.start(['sync'], settings);
  const memory = await memoryOf(run, async () => (await coveredSeconds()) >= END - START - 1);
  run.child.kill('SIGTERM');
  const { code, stderr } = await run.ended;
  console.log('sync', memory);
  expect({ code, stderr }).toMatchObject({ code: 0 });
  expect(memory.mostMb).toBeLessThanOrEqual(LIMIT_MB.sync);
}, 1_200_000);
