import { openCrawl } from '../../../src/app/open-crawl.ts';
import { openStore } from '../../../src/app/open-store.ts';
import { readConfig } from '../../../src/settings/config.ts';
import { fillRange } from '../../../src/crawl/streams/read-leases.ts';
import { loadJobs } from '../../../src/dataset/load-jobs.ts';
import { chooseDatasets, type Dataset } from '../../../src/dataset/dataset.ts';
import { createLogger } from '../../../src/logger.ts';
import type { Range } from '../../../src/range.ts';

/** The first argument of a crawling process. */
export interface Order {
  readonly database: string;
  readonly api: string;
  readonly applicationName: string;
  readonly datasets: readonly string[];
  readonly range: Range;
  /** Rows a page; default: as many as the program requests. */
  readonly page?: number;
}

/** The program's own crawl of a range, to be killed. Exit 0: the range is complete. */
const order = JSON.parse(process.argv[2] ?? '') as Order;
const config = readConfig(
  { DATABASE_URL: order.database, TONCENTER_NETWORK: order.api, TONCENTER_RPS: '1000' },
  '/nowhere',
);
const never = new AbortController().signal;
const stop = { finishing: never, leaving: never };
const logger = createLogger({ level: 'error', format: 'json' });
const store = await openStore(config, logger, order.applicationName);
const crawl = await openCrawl({
  config,
  store,
  logger,
  stop,
  baseUrl: order.api,
});
const missing = await fillRange({
  ...crawl,
  stop,
  datasets: chooseDatasets(order.datasets, await loadJobs()).map(smaller),
  readable: { range: order.range, watermark: order.range.to },
});
await crawl.close();
await store.close();
process.exitCode = missing.size === 0 ? 0 : 3;

function smaller({ name, job }: Dataset): Dataset {
  const maxSize = order.page ?? job.paginator.maxSize;
  return { name, job: { ...job, paginator: { ...job.paginator, maxSize } } };
}
