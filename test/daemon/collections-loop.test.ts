import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { loadDatasets } from '../../src/dataset/load-jobs.ts';
import { createShare } from '../../src/budget/share.ts';
import { runDaemon } from '../../src/daemon/daemon.ts';
import { chooseDatasets, splitKinds } from '../../src/dataset/dataset.ts';
import { startSimulator } from '../support/simulator/simulator.ts';
import type { Stop } from '../../src/stop.ts';
import { manualClock } from '../support/manual-clock.ts';
import { select, sorted } from '../support/collections.ts';
import { datasetsNamed, openTestCrawl, testConfig } from '../support/crawl.ts';
import { openTestStore } from '../support/database/database.ts';
import { rebuilt } from '../support/rebuild/rebuild-collections.ts';

test('a share of the budget is never exceeded, also after a pause', async () => {
  const clock = manualClock();
  const pace = createShare(2, clock, new AbortController().signal);
  const times: number[] = [];
  const asking = (async () => {
    for (let request = 0; request < 6; request += 1) {
      if (request === 3) await clock.sleep(5000);
      await pace();
      times.push(clock.now());
    }
  })();
  await clock.advance(20_000);
  await asking;
  expect(times).toEqual([0, 500, 1000, 6000, 6500, 7000]);
});

test('the daemon reads collections beside its streams, with the least priority', async () => {
  const store = await openTestStore();
  const now = Math.floor(Date.now() / 1000);
  const simulator = await startSimulator({ start: now - 600, load: 4, accounts: 200, live: { head: now } });
  const finishing = new AbortController();
  const stop: Stop = { finishing: finishing.signal, leaving: new AbortController().signal };
  // Of the newest minutes nothing is read in the first round.
  const config = { since: '-400s', watermarkDelay: 4, freshness: 3, rps: 200 };
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
