import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { loadDatasets } from '../../src/dataset/load-jobs.ts';
import { createTurns } from '../../src/daemon/collections-loop.ts';
import { runDaemon } from '../../src/daemon/daemon.ts';
import { chooseDatasets, splitKinds } from '../../src/dataset/dataset.ts';
import { startSimulator } from '../support/simulator/simulator.ts';
import type { Stop } from '../../src/stop.ts';
import { manualClock } from '../support/manual-clock.ts';
import { select, sorted } from '../support/collections.ts';
import { datasetsNamed, openTestCrawl, testConfig } from '../support/crawl.ts';
import { openTestStore } from '../support/database/database.ts';
import { rebuilt } from '../support/rebuild/rebuild-collections.ts';

/** Takes turns by a stopped clock, and records who had one when. */
function turnsBy(options: { perSecond: number; most: number }) {
  const clock = manualClock();
  const stop = new AbortController();
  const turns = createTurns({ ...options, most: () => options.most, clock, signal: stop.signal });
  const taken: { readonly name: string; readonly at: number }[] = [];
  /** Takes so many turns at once, each of which lasts so long. */
  const take = (name: string, count: number, ms = 0) =>
    Promise.all(
      Array.from({ length: count }, () =>
        turns.take(name, () => {
          taken.push({ name, at: clock.now() });
          return ms === 0 ? Promise.resolve() : clock.sleep(ms);
        }),
      ),
    );
  return { clock, stop, turns, taken, take };
}

test('a share of the budget is never exceeded, even after a pause', async () => {
  const { clock, taken, take } = turnsBy({ perSecond: 2, most: 9 });
  const asking = (async () => {
    await take('a', 3);
    await clock.sleep(5000);
    await take('a', 3);
  })();
  await clock.advance(20_000);
  await asking;
  expect(taken.map(({ at }) => at)).toEqual([0, 500, 1000, 6000, 6500, 7000]);
});

test('work that never ends leaves every other kind its turn', async () => {
  const { clock, taken, take } = turnsBy({ perSecond: 1, most: 1 });
  const ends = [take('history', 50), take('list', 1), take('look-up', 3)];
  await clock.advance(60_000);
  await Promise.all(ends);
  const names = taken.map(({ name }) => name);
  expect(names.indexOf('list')).toBeLessThan(4);
  expect(names.lastIndexOf('look-up')).toBeLessThan(9);
  expect(names.filter((name) => name === 'history')).toHaveLength(50);
});

test('a long turn takes only its own slot, and a failed one releases it', async () => {
  const { clock, turns, taken, take } = turnsBy({ perSecond: 1, most: 2 });
  await expect(turns.take('broken', () => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
  const slow = take('slow', 1, 10_000);
  const quick = take('quick', 4);
  await clock.advance(30_000);
  await Promise.all([slow, quick]);
  expect(taken.filter(({ name }) => name === 'quick').map(({ at }) => at)).toEqual([2000, 3000, 4000, 5000]);
});

test('the daemon reads collections next to its streams, with the lowest priority', async () => {
  const store = await openTestStore();
  const now = Math.floor(Date.now() / 1000);
  const simulator = await startSimulator({ start: now - 600, load: 4, accounts: 200, live: { head: now } });
  const finishing = new AbortController();
  const stop: Stop = { finishing: finishing.signal, leaving: new AbortController().signal };
  // The first round reads nothing of the newest minutes.
  const config = { since: '-400s', watermarkDelaySeconds: 4, freshnessSeconds: 3, rps: 200 };
  const crawl = await openTestCrawl(store, simulator.url, { stop, config });
  const all = await loadDatasets();
  const { collections } = splitKinds(chooseDatasets(['jetton_masters', 'shard_states'], all));
  const datasets = await datasetsNamed('blocks');
  const daemon = runDaemon({ ...crawl, datasets, collections, config: testConfig(config), stop });
  try {
    const end = Date.now() + 20_000;
    const isThere = async () =>
      (await select(store, `select from etl.cursors where dataset = 'shard_states' and owner is null`))
        .length > 0;
    while (Date.now() < end && !(await isThere())) await delay(100);
    finishing.abort();
    await daemon;
    expect((await rebuilt.jetton_masters(store)).length).toBeGreaterThan(0);
    expect((await rebuilt.shard_states(store)).size).toBeGreaterThan(10);
    const masters = simulator.truth.entities().jettonMasters();
    const addresses = sorted(await rebuilt.jetton_masters(store)).map(
      (row) => (row as { address: string }).address,
    );
    expect(masters.map(({ address }) => address)).toEqual(expect.arrayContaining(addresses));
    const { requests } = crawl.context.api.stats.byPriority.refresh;
    expect(requests).toBeGreaterThan(10);
  } finally {
    finishing.abort();
    await crawl.close();
    await simulator.close();
    await store.close();
  }
});
