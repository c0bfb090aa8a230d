import { setFlagsFromString } from 'node:v8';
import { openCrawl, openStore } from '../../src/app.ts';
import { readConfig } from '../../src/settings/config.ts';
import { backfill } from '../../src/crawl/streams/backfill.ts';
import { loadJobs } from '../../src/dataset/load-jobs.ts';
import { chooseDatasets } from '../../src/dataset/dataset.ts';
import { V8_FLAGS } from '../../src/settings/config.ts';
import { createLogger } from '../../src/logger.ts';
import { SPAN } from './network.ts';
import { unlimited } from './unlimited.ts';

export interface CrawlOrder {
  readonly database: string;
  readonly api: string;
  readonly concurrency: number;
}

export interface CrawlReport {
  readonly pages: number;
  readonly records: number;
  readonly bytes: number;
  readonly requests: number;
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly peakRss: number;
}

setFlagsFromString(V8_FLAGS);

/** Crawls all transactions of a served network with the program's own crawler, and tells the parent what it took. */
const order = JSON.parse(process.argv[2] ?? '') as CrawlOrder;
const config = readConfig({ DATABASE_URL: order.database, TONCENTER_NETWORK: order.api }, '/');
const logger = createLogger({ level: 'warn', format: 'json' });
const never = new AbortController().signal;
const stop = { finishing: never, leaving: never };
const store = await openStore(config, logger, 'bench');
const total = { pages: 0, records: 0, bytes: 0 };
const crawl = await openCrawl({
  config,
  store,
  logger,
  stop,
  baseUrl: order.api,
  budget: () => unlimited,
});
crawl.subscribe(({ records, bytes }) => {
  total.pages += 1;
  total.records += records;
  total.bytes += bytes;
});
const datasets = chooseDatasets(['transactions'], await loadJobs());
const start = performance.now();
const cpu = process.cpuUsage();
const missing = await backfill({
  ...crawl,
  datasets,
  concurrency: order.concurrency,
  stop,
  reach: { range: SPAN, watermark: SPAN.to },
});
const { user, system } = process.cpuUsage(cpu);
const report: CrawlReport = {
  ...total,
  requests: crawl.context.api.stats.requests,
  seconds: (performance.now() - start) / 1000,
  cpuSeconds: (user + system) / 1e6,
  peakRss: process.resourceUsage().maxRSS * 1024,
};
if (missing.size > 0) throw new Error('the crawl left something out');
await crawl.close();
await store.close();
process.send?.(report);
process.disconnect();
