import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { HOLD_SECONDS } from '../../src/ledger/leases.ts';
import { startSimulator, type SimulatorOptions } from '../support/simulator/simulator.ts';
import { openTestStore, type TestStore } from '../support/database/database.ts';
import { comparable } from '../support/rebuild/same-record.ts';
import type { WorkOrder } from '../support/scale/worker.ts';
import { openWorkers, type Workers } from '../support/scale/workers.ts';
import { readStored } from '../support/database/stored.ts';

const START = Date.UTC(2026, 2, 1) / 1000;
const HOURS = 2;
const RANGE = { from: START, to: START + HOURS * 3600 };

let workers: Workers;
beforeAll(async () => {
  workers = await openWorkers();
});
afterAll(() => workers.close());

const network: SimulatorOptions = {
  start: START,
  duration: HOURS * 3600 + 600,
  load: 10,
  accounts: 500,
  seed: 5,
};

function serve(rps: number) {
  return startSimulator({
    ...network,
    rateLimit: { kind: 'sliding-window', rps, graceMs: 100 },
    latencyMs: [0, 100],
  });
}

/** Starts so many processes at once on one range, and returns what they needed. */
async function crawlTogether(count: number, rps: number) {
  const [simulator, store] = await Promise.all([serve(rps), openTestStore()]);
  const order = orderFor(store, simulator.url, rps);
  const processes = await Promise.all(Array.from({ length: count }, () => workers.start(order)));
  const begin = performance.now();
  const codes = await Promise.all(processes.map((process) => finish(process)));
  const seconds = (performance.now() - begin) / 1000;
  const { total, byStatus } = simulator.stats;
  await workers.kill();
  await simulator.close();
  await store.close();
  return { codes, requests: total, seconds, refused: byStatus.get(429) ?? 0 };
}

function orderFor(store: TestStore, api: string, rps: number): WorkOrder {
  return { database: store.url, api, rps, datasets: ['transactions'], range: RANGE, page: 50 };
}

async function finish(process: ChildProcess): Promise<unknown> {
  const end = once(process, 'exit');
  process.send('go');
  return (await end)[0] as unknown;
}

test('eight processes that read one range at once need hardly more requests than one', async () => {
  const one = await crawlTogether(1, 25);
  const eight = await crawlTogether(8, 25);
  console.log('the same work', {
    one,
    eight,
    more: `${((eight.requests / one.requests - 1) * 100).toFixed(2)} %`,
  });
  expect([...one.codes, ...eight.codes]).toEqual(Array.from({ length: 9 }, () => 0));
  // Each lease ends with a page that is not full, and eight processes have more of them.
  expect(eight.requests).toBeLessThanOrEqual(one.requests * 1.2);
  expect(eight.refused).toBeLessThanOrEqual(eight.requests * 0.002);
});

test('eight processes, one killed every few seconds and one frozen past its lease, end in the truth', async () => {
  const rps = 25;
  const [simulator, store] = await Promise.all([serve(rps), openTestStore()]);
  const order = orderFor(store, simulator.url, rps);
  const start = async () => {
    const process = await workers.start(order);
    process.send('go');
    return process;
  };
  const starting = Array.from({ length: 8 }, start);
  const [frozen] = await Promise.all(starting);
  frozen!.kill('SIGSTOP');
  const frozenAt = performance.now();
  let [kills, thaws] = [0, 0];
  while (!(await isCovered(store))) {
    await delay(3000);
    if (thaws === 0 && performance.now() - frozenAt > (HOLD_SECONDS + 5) * 1000) {
      frozen!.kill('SIGCONT');
      thaws += 1;
    }
    const victim = 1 + Math.floor(Math.random() * 7);
    (await starting[victim])!.kill('SIGKILL');
    kills += 1;
    starting[victim] = start();
  }
  expect(thaws).toBe(1);
  const processes = await Promise.all(starting);
  const codes = await Promise.all(
    processes.map(async (process) => process.exitCode ?? ((await once(process, 'exit'))[0] as unknown)),
  );
  console.log('killed and frozen', {
    kills,
    seconds: Math.round((performance.now() - frozenAt) / 1000),
    codes: codes.join(),
    requests: simulator.stats.total,
    refused: simulator.stats.byStatus.get(429) ?? 0,
  });
  expect(codes).toEqual(codes.map(() => 0));
  await readStored(store.url, async (stored) => {
    const rebuilt = (await stored.transactions()).map((record) => text(record)).sort();
    const truth = [...simulator.truth.transactions(RANGE)].map((record) => text(record)).sort();
    expect(rebuilt.length).toBe(truth.length);
    expect(rebuilt.findIndex((record, n) => record !== truth[n])).toBe(-1);
  });
  await workers.kill();
  await simulator.close();
  await store.close();
});

function text(record: unknown): string {
  return JSON.stringify(comparable('transactions', record), (_, value: unknown) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  );
}

async function isCovered(store: TestStore): Promise<boolean> {
  const client = new pg.Client({ connectionString: store.url });
  await client.connect();
  const { rowCount } = await client.query(
    `select from etl.coverage where dataset = 'transactions' and pass = 0 and covered @> int8range($1, $2)`,
    [RANGE.from, RANGE.to],
  );
  await client.end();
  return rowCount === 1;
}
