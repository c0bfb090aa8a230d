import { openCrawl } from '../../../src/app/open-crawl.ts';
import { openStore } from '../../../src/app/open-store.ts';
import { readConfig } from '../../../src/settings/config.ts';
import { fillRange } from '../../../src/crawl/streams/read-leases.ts';
import { loadJobs } from '../../../src/dataset/load-jobs.ts';
import { runDaemon } from '../../../src/daemon/daemon.ts';
import { chooseDatasets, type Dataset } from '../../../src/dataset/dataset.ts';
import { createLogger } from '../../../src/logger.ts';
import type { Range } from '../../../src/range.ts';

/** The task of a separate crawling process. */
export interface WorkOrder {
  readonly database: string;
  readonly api: string;
  readonly rps: number;
  readonly datasets: readonly string[];
  /** The range to read once; if absent, the daemon runs until SIGTERM. */
  readonly range?: Range;
  /** Rows a page. */
  readonly page?: number;
  readonly settings?: Readonly<Record<string, string>>;
}

const order = JSON.parse(process.argv[2] ?? '') as WorkOrder;
const config = readConfig(
  {
    DATABASE_URL: order.database,
    TONCENTER_NETWORK: order.api,
    TONCENTER_RPS: String(order.rps),
    ...order.settings,
  },
  '/nowhere',
);
const finishing = new AbortController();
process.on('SIGTERM', () => finishing.abort());
const stop = { finishing: finishing.signal, leaving: new AbortController().signal };
const logger = createLogger({ level: process.env['TEST_LOG'] ?? 'error', format: 'json' });
const store = await openStore(config, logger, 'worker');
const crawl = await openCrawl({ config, store, logger, stop, baseUrl: order.api });
const datasets = chooseDatasets(order.datasets, await loadJobs()).map(smaller);
process.send?.('ready');
await work();
await crawl.close();
await store.close();
process.disconnect();

async function work(): Promise<void> {
  const { range } = order;
  if (range === undefined) {
    await runDaemon({ ...crawl, datasets, config, stop });
    return;
  }
  await new Promise((resolve) => process.once('message', resolve));
  const missing = await fillRange({
    ...crawl,
    datasets,
    stop,
    attempts: 100,
    readable: { range, watermark: Number.MAX_SAFE_INTEGER },
  });
  process.exitCode = missing.size === 0 ? 0 : 3;
}

function smaller({ name, job }: Dataset): Dataset {
  const maxSize = order.page ?? job.paginator.maxSize;
  return { name, job: { ...job, paginator: { ...job.paginator, maxSize } } };
}
