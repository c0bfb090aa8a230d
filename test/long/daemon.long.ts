import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { streamOf } from '../../src/crawl/streams/planner.ts';
import { runDaemon } from '../../src/daemon/daemon.ts';
import { readCoverage } from '../../src/ledger/stored-coverage.ts';
import { lengthOf } from '../../src/range.ts';
import { startSimulator } from '../support/simulator/simulator.ts';
import { datasetsNamed, openTestCrawl, testConfig } from '../support/crawl.ts';
import { openTestStore } from '../support/database/database.ts';

const DELAY = 30;
const MINUTES = 4;
/** The first poll of the chain and the first pages are not yet the steady state. */
const WARM_UP_MS = 60_000;

/** Runs the daemon on the core datasets next to a live network, and returns its lag and what it spent on what. */
async function run(rps: number) {
  const now = Math.floor(Date.now() / 1000);
  const simulator = await startSimulator({
    start: now - 3 * 3600,
    load: 3,
    accounts: 600,
    live: { head: now },
    rateLimit: { kind: 'sliding-window', rps, graceMs: 100 },
    latencyMs: [0, 100],
  });
  const store = await openTestStore();
  const finishing = new AbortController();
  const stop = { finishing: finishing.signal, leaving: new AbortController().signal };
  const config = { since: '-3h', watermarkDelaySeconds: DELAY, freshnessSeconds: 15, rps };
  const crawl = await openTestCrawl(store, simulator.url, { stop, config });
  // The elector's events are served from a copy that lags: their delay differs.
  const datasets = await datasetsNamed('core');
  const live = datasets.filter(({ job }) => job.delaySeconds === undefined);
  const daemon = runDaemon({ ...crawl, datasets, config: testConfig(config), stop });
  const lags: number[] = [];
  const start = Date.now();
  while (Date.now() - start < MINUTES * 60_000) {
    await delay(1000);
    if (Date.now() - start < WARM_UP_MS) continue;
    for (const dataset of live) {
      const end = (await readCoverage(store.database, streamOf(dataset))).at(-1)?.to ?? 0;
      lags.push(simulator.headTime - end);
    }
  }
  finishing.abort();
  await daemon;
  const { byPriority, requests, refused } = crawl.context.api.stats;
  const history = await Promise.all(
    live.map(async (dataset) => lengthOf(await readCoverage(store.database, streamOf(dataset)))),
  );
  await crawl.close();
  await store.close();
  await simulator.close();
  const sorted = lags.sort((a, b) => a - b);
  const at = (share: number) => Math.round(sorted[Math.floor(sorted.length * share)] ?? NaN);
  return {
    rps,
    requests,
    refused,
    usedOfAllowed: requests / (rps * MINUTES * 60),
    lagP50: at(0.5),
    lagP95: at(0.95),
    lagMax: at(0.999),
    tailShare: byPriority.tail.requests / requests,
    coveredSeconds: history,
  };
}

test('at 10 requests/s the head is followed within the delay and ten seconds', async () => {
  const report = await run(10);
  console.log(JSON.stringify(report));
  expect(report.lagP95).toBeLessThanOrEqual(DELAY + 10);
}, 400_000);

test('at 1 request/s both the head and history advance', async () => {
  const report = await run(1);
  console.log(JSON.stringify(report));
  expect(report.tailShare).toBeLessThan(0.75);
  for (const seconds of report.coveredSeconds) expect(seconds).toBeGreaterThan(MINUTES * 60);
  expect(report.lagP95).toBeLessThan(DELAY + 60);
}, 400_000);
