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

interface Expected {
  readonly network: Partial<SimulatorOptions>;
  /** The least share of a page that is full in a dense range, all requests counted. */
  readonly full: number;
  /** Requests in a sparse day beyond one for each page of rows and window. */
  readonly more?: number;
}

const EXPECTED: Readonly<Record<string, Expected>> = {
  // Masterchain blocks are rare: their rows share a second, and a page must span many seconds. The newest blocks are not
  // linked yet, and a page may be cut short: what follows them is requested again.
  blocks: { network: { load: 0.5 }, full: 0.8, more: 1 },
  // A page that is longer than all before it is doubted once.
  transactions: { network: { load: 2 }, full: 0.95, more: 1 },
  traces: { network: { load: 4 }, full: 0.88 },
  // Windows are narrow, so that a server need not scan more than a page, and logical times come from blocks. On a sparse
  // day windows grow from a minute on.
  actions: { network: { load: 4 }, full: 0.7, more: 24 },
  jetton_transfers: { network: { load: 4, mix: { jetton_transfer: 4 } }, full: 0.95 },
  jetton_burns: { network: { load: 4, mix: { burn: 4 } }, full: 0.95 },
  nft_transfers: { network: { load: 4, mix: { nft: 4 } }, full: 0.95 },
};
const CASES = Object.entries(EXPECTED).flatMap(([name, expected]) =>
  (['1.2', '1.3'] as const).map((build) => ({ name, build, ...expected })),
);
/** So slow that few requests are in flight: leases that many readers share end with a short page each. */
const RPS = 20;

interface Cost {
  readonly rows: number;
  readonly requests: number;
}

/** Crawls a network of its own. */
async function costOf(name: string, page: number, network: SimulatorOptions): Promise<Cost> {
  const simulator = await startSimulator({ start: START, accounts: 800, ...network });
  const store = await openTestStore();
  const crawl = await openTestCrawl(store, simulator.url, { config: { rps: RPS } });
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

test.each(CASES)('$name of build $build: pages of a dense range are full to $full', async (one) => {
  const { rows, requests } = await costOf(one.name, PAGE, {
    ...one.network,
    build: one.build,
    duration: 4 * 3600,
  });
  const full = rows / (requests * PAGE);
  console.log(`${one.name}, build ${one.build}`, { rows, requests, fullPages: Math.round(full * 1000) / 10 });
  expect(requests).toBeGreaterThan(20);
  expect(full).toBeGreaterThanOrEqual(one.full);
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
    const { more = 0 } = one;
    expect(requests).toBeLessThanOrEqual(Math.ceil(rows / size) + WINDOWS + more);
  },
);
