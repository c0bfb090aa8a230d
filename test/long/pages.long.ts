import { expect, test } from 'vitest';
import type { Crawl } from '../../src/app/open-crawl.ts';
import { fillRange } from '../../src/crawl/streams/read-leases.ts';
import { findReadablePart } from '../../src/crawl/streams/readable-part.ts';
import type { Dataset } from '../../src/dataset/dataset.ts';
import { startSimulator, type SimulatorOptions } from '../support/simulator/simulator.ts';
import { datasetsNamed, never, openTestCrawl } from '../support/crawl.ts';
import { openTestStore } from '../support/database/database.ts';

/*
 * How many requests a range costs: nearly all pages are full if it is dense, and few are sent if it is
 * sparse. Pages are small, so that a network of some ten thousand rows has hundreds of them.
 */

const START = Date.UTC(2026, 2, 1) / 1000;
const PAGE = 100;
/** Live and archived events need separate requests, because no window may cross the border between them. */
const WINDOWS = 2;

/** Masterchain blocks are rare: their rows share a second, and a page must span many seconds. */
const DENSE: Readonly<Record<string, Partial<SimulatorOptions>>> = {
  blocks: { load: 0.5 },
  transactions: { load: 2 },
  traces: { load: 4 },
  actions: { load: 4 },
  jetton_transfers: { load: 4, mix: { jetton_transfer: 4 } },
  jetton_burns: { load: 4, mix: { burn: 4 } },
  nft_transfers: { load: 4, mix: { nft: 4 } },
};
const CASES = Object.entries(DENSE).flatMap(([name, network]) =>
  (['1.2', '1.3'] as const).map((build) => ({ name, build, network })),
);

interface Cost {
  readonly rows: number;
  readonly requests: number;
}

/** Crawls a network of its own with one worker. */
async function costOf(name: string, page: number, network: SimulatorOptions): Promise<Cost> {
  const simulator = await startSimulator({ start: START, accounts: 800, ...network });
  const store = await openTestStore();
  const crawl = await openTestCrawl(store, simulator.url);
  try {
    const datasets = (await datasetsNamed(name)).map((dataset) => withPages(dataset, page));
    const wanted = { from: 0, to: crawl.chain.last.utime };
    const readable = await findReadablePart({ ...crawl, wanted, delaySeconds: 0, signal: never.leaving });
    let rows = 0;
    const context: Crawl['context'] = {
      ...crawl.context,
      onPage: ({ records }) => {
        rows += records;
      },
    };
    const before = simulator.stats.total;
    expect(await fillRange({ ...crawl, context, datasets, readable, stop: never })).toEqual(new Map());
    return { rows, requests: simulator.stats.total - before };
  } finally {
    await crawl.close();
    await store.close();
    await simulator.close();
  }
}

function withPages({ name, job }: Dataset, maxSize: number): Dataset {
  return { name, job: { ...job, paginator: { ...job.paginator, maxSize } } };
}

test.each(CASES)('$name of build $build: 95 % of the pages of a dense range are full', async (one) => {
  const { rows, requests } = await costOf(one.name, PAGE, {
    ...one.network,
    build: one.build,
    duration: 4 * 3600,
  });
  const full = rows / (requests * PAGE);
  console.log(`${one.name}, build ${one.build}`, { rows, requests, fullPages: Math.round(full * 1000) / 10 });
  expect(requests).toBeGreaterThan(20);
  expect(full).toBeGreaterThanOrEqual(0.95);
});

test.each(CASES)(
  '$name of build $build: a sparse day costs a request a thousand rows and window',
  async (one) => {
    const size = (await datasetsNamed(one.name))[0]?.job.paginator.maxSize ?? 0;
    const { rows, requests } = await costOf(one.name, size, {
      build: one.build,
      duration: 86_400,
      load: 0.005,
      masterchainInterval: 60,
    });
    console.log(`${one.name}, build ${one.build}`, { rows, requests });
    // The newest blocks are not linked yet, and a page may be cut short: what follows them is requested
    // again.
    const more = one.name === 'blocks' ? 1 : 0;
    expect(requests).toBeLessThanOrEqual(Math.ceil(rows / size) + WINDOWS + more);
  },
);
