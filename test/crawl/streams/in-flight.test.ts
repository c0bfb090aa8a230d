import { afterAll, beforeAll, expect, vi } from 'vitest';
import { fillRange } from '../../../src/crawl/streams/read-leases.ts';
import { datasetsNamed, openTestCrawl } from '../../support/crawl.ts';
import { openTestStore, type TestStore } from '../../support/database/database.ts';
import { startSimulator, type Simulator } from '../../support/simulator/simulator.ts';
import { slowness } from '../../support/slowness.ts';
import { thorough } from '../../support/thorough.ts';

const START = Date.UTC(2026, 2, 1) / 1000;
const RPS = 10;
/** Pages are small, so that a busy machine does not change what waits. */
const PAGE = 20;

let store: TestStore;
let simulator: Simulator;

beforeAll(async () => {
  const rateLimit = { kind: 'sliding-window', rps: RPS, graceMs: 100 } as const;
  const network = { start: START, duration: 1500, load: 10, seed: 7, rateLimit };
  [store, simulator] = await Promise.all([
    openTestStore(),
    startSimulator({ ...network, latencyMs: [1000, 1000] }),
  ]);
});
afterAll(async () => {
  await simulator.close();
  await store.close();
});

thorough(
  'where an answer takes a second, enough requests are under way to use most of what is allowed',
  async () => {
    const finishing = new AbortController();
    const stop = { finishing: finishing.signal, leaving: new AbortController().signal };
    const crawl = await openTestCrawl(store, simulator.url, { stop, config: { rps: RPS } });
    const datasets = (await datasetsNamed('transactions')).map(({ name, job }) => ({
      name,
      job: { ...job, paginator: { ...job.paginator, maxSize: PAGE } },
    }));
    const { inFlight, stats } = crawl.context.api;
    const reading = fillRange({
      ...crawl,
      datasets,
      readable: { range: { from: START, to: START + 1440 }, watermark: simulator.headTime },
      stop,
    });
    const patience = { timeout: 240_000, interval: 20 };
    await vi.waitFor(() => expect(inFlight.count).toBeGreaterThan(8), patience);
    const [before, at] = [stats.requests, performance.now()];
    await vi.waitFor(() => expect(stats.requests).toBeGreaterThan(before + 30), patience);
    const share = ((stats.requests - before) * 1000) / (performance.now() - at) / RPS;
    expect(share).toBeGreaterThan(0.5 / slowness());
    expect(stats.refused).toBe(0);
    finishing.abort();
    await reading;
    await crawl.close();
  },
);
