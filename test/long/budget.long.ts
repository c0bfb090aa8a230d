import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { compile } from '../support/program/compile.ts';
import { openTestStore, type TestStore } from '../support/database/database.ts';
import { startCountingServer, type Arrival } from '../support/budget/counting-server.ts';
import { startSpenders } from '../support/budget/spenders.ts';

const SECONDS = Number(process.env['BUDGET_SECONDS'] ?? 60);

let compiled: string;
let store: TestStore;
beforeAll(async () => {
  [compiled, store] = await Promise.all([compile(), openTestStore()]);
});
afterAll(async () => {
  await store.close();
});

const runs = [10, 25].flatMap((rps) => [1, 4, 8].map((processes) => ({ processes, rps })));

test.each(runs)(
  '$processes processes that start at once at $rps/s: 95 % used, 0.2 % refused',
  async ({ processes, rps }) => {
    const server = await startCountingServer({ kind: 'sliding-window', rps, graceMs: 100 }, 100);
    const order = {
      database: store.url,
      api: server.url,
      rps,
      lanes: 4,
      priority: 'backfill',
      pauseMs: 0,
    } as const;
    const spenders = await startSpenders(
      compiled,
      Array.from({ length: processes }, () => order),
    );
    spenders.go();
    await delay(1000 * (SECONDS + 1.5));
    const reports = await spenders.stop();
    await server.close();
    const { used, refused, again } = measure(server.arrivals, rps);
    const statements = reports.reduce((sum, report) => sum + report.statements, 0);
    const requests = reports.map((report) => report.requests);
    console.log(`${processes} processes at ${rps}/s`, {
      used: percent(used),
      refused: percent(refused),
      statementsARequest: round(statements / server.arrivals.length),
      statementMs: round(reports.reduce((sum, report) => sum + report.statementMs, 0) / processes),
      shares: `${Math.min(...requests)} to ${Math.max(...requests)} requests a process`,
    });
    expect(used).toBeGreaterThanOrEqual(0.95);
    expect(refused).toBeLessThanOrEqual(0.002);
    expect(again).toBe(0);
  },
);

/** Seconds of the true rate, of the lower one, and of the true rate again. */
const [BEFORE, LIE, AFTER] = [20, 180, 180];
const PART = 0.6;

test('a server that refuses at 60 % of its plan: settled within a minute, few refusals, and back when it stops', async () => {
  const rps = 10;
  const server = await startCountingServer({ kind: 'sliding-window', rps }, 20);
  const order = {
    database: store.url,
    api: server.url,
    rps,
    lanes: 4,
    priority: 'backfill',
    pauseMs: 0,
  } as const;
  const spenders = await startSpenders(compiled, [order, order, order, order]);
  spenders.go();
  await delay(1000 * BEFORE);
  const lie = performance.now();
  server.grants = PART;
  await delay(1000 * LIE);
  server.grants = 1;
  await delay(1000 * AFTER);
  await spenders.stop();
  await server.close();
  const between = (from: number, to: number, part: number) => {
    const within = server.arrivals.filter(({ at }) => at >= lie + 1000 * from && at < lie + 1000 * to);
    const refused = within.filter((arrival) => arrival.refused).length;
    return { used: (within.length - refused) / (rps * part * (to - from)), refused, requests: within.length };
  };
  const settling = between(0, 60, PART);
  const settled = between(60, LIE, PART);
  const recovered = between(LIE + AFTER - 60, LIE + AFTER, 1);
  console.log('a server that refuses too early', { settling, settled, recovered });
  for (let second = 0; second < LIE + AFTER; second += 20)
    console.log(second, between(second, second + 20, 1));
  expect(settling.refused).toBeLessThanOrEqual(0.05 * settling.requests);
  expect(settled.used).toBeGreaterThanOrEqual(0.85);
  expect(settled.refused).toBeLessThanOrEqual(0.02 * settled.requests);
  expect(recovered.used).toBeGreaterThanOrEqual(0.85);
});

/** The requests that passed in the seconds since the first arrival, as a share of what the plan allows. */
function measure(arrivals: readonly Arrival[], rps: number) {
  const start = arrivals[0]?.at ?? 0;
  const within = arrivals.filter(({ at }) => at < start + SECONDS * 1000);
  const refusals = within.filter(({ refused }) => refused);
  const again = refusals.filter(({ at }, n) => at - (refusals[n - 1]?.at ?? -Infinity) < 5000);
  return {
    used: (within.length - refusals.length) / (rps * SECONDS),
    refused: refusals.length / within.length,
    again: again.length,
  };
}

const round = (value: number) => Math.round(value * 100) / 100;
const percent = (part: number) => `${(100 * part).toFixed(2)} %`;
