import { openCrawl } from '../../../src/app/open-crawl.ts';
import { openStore } from '../../../src/app/open-store.ts';
import { fillRange } from '../../../src/crawl/streams/read-leases.ts';
import { type Dataset, chooseDatasets } from '../../../src/dataset/dataset.ts';
import { loadJobs } from '../../../src/dataset/load-jobs.ts';
import type { Range } from '../../../src/range.ts';
import { never, silent, testConfig } from '../crawl.ts';

interface CrawlOrder {
  /** The URL of the database, with all of its addresses. */
  readonly url: string;
  readonly api: string;
  readonly datasets: readonly string[];
  readonly range: Range;
  /** Rows a page: few, so that there is much to interrupt. */
  readonly page: number;
  /** Name in leases and pages. */
  readonly owner: string;
  /** Called after each page that completed a second. */
  readonly onPage: () => void;
}

/**
 * Covers a range as `fillRange` does.
 * @returns how many ranges are missing
 */
export async function crawl(order: CrawlOrder): Promise<number> {
  const { url, api, owner, range } = order;
  const config = testConfig({ databaseUrl: url, rps: 200, attempts: 10 });
  const store = await openStore(config, silent, 'crawl');
  const opened = await openCrawl({
    config,
    store,
    owner,
    logger: silent,
    stop: never,
    baseUrl: api,
  }).catch(async (error: unknown) => {
    await store.close();
    throw error;
  });
  opened.subscribe(({ completed }) => {
    if (completed !== undefined) order.onPage();
  });
  try {
    const chosen = chooseDatasets(order.datasets, await loadJobs());
    const datasets = chosen.map(({ name, job }): Dataset => {
      const paginator = { ...job.paginator, maxSize: Math.min(order.page, job.paginator.maxSize) };
      return { name, job: { ...job, paginator } };
    });
    const readable = { range, watermark: range.to };
    const missing = await fillRange({ ...opened, attempts: 10, datasets, readable, stop: never });
    return missing.size;
  } finally {
    await opened.close();
    await store.close();
  }
}
