import { monitorEventLoopDelay } from 'node:perf_hooks';
import { openCrawl } from '../../src/app/open-crawl.ts';
import { openStore } from '../../src/app/open-store.ts';
import { readConfig } from '../../src/settings/config.ts';
import { fillRange } from '../../src/crawl/streams/read-leases.ts';
import { loadJobs } from '../../src/dataset/load-jobs.ts';
import { chooseDatasets } from '../../src/dataset/dataset.ts';
import { createLogger } from '../../src/logger.ts';
import type { Range } from '../../src/range.ts';
import { unlimited } from './unlimited.ts';

export interface CrawlOrder {
  readonly database: string;
  readonly api: string;
  readonly range: Range;
  /** Requests a second; default: as many as possible. */
  readonly rps?: number;
  /** Rows a page; default: as many as the endpoint gives. */
  readonly page?: number;
}

export interface CrawlReport {
  readonly pages: number;
  readonly records: number;
  readonly bytes: number;
  readonly requests: number;
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly peakRss: number;
  readonly refused: number;
  /** The maximum of requests in flight. */
  readonly mostInFlight: number;
  /** Requests a second while the middle half of the pages came. */
  readonly steadyRate: number;
  /** The longest time that the event loop was blocked, in milliseconds (99.9th percentile). */
  readonly longestBlockMs: number;
}

/** Crawls all transactions of a served network with the program's own crawler, and sends the parent what it took. */
const order = JSON.parse(process.argv[2] ?? '') as CrawlOrder;
const config = readConfig(
  {
    DATABASE_URL: order.database,
    TONCENTER_NETWORK: order.api,
    ...(order.rps !== undefined && { TONCENTER_RPS: String(order.rps) }),
  },
  '/',
);
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
  budget: (shared) => (order.rps === undefined ? unlimited : shared),
});
const { stats, inFlight } = crawl.context.api;
const sent: { readonly at: number; readonly requests: number }[] = [];
let mostInFlight = 0;
const watching = setInterval(() => {
  mostInFlight = Math.max(mostInFlight, inFlight.count);
}, 10);
crawl.subscribe(({ records, bytes }) => {
  total.pages += 1;
  total.records += records;
  total.bytes += bytes;
  sent.push({ at: performance.now(), requests: stats.requests });
});
const datasets = chooseDatasets(['transactions'], await loadJobs()).map(({ name, job }) => {
  const maxSize = order.page ?? job.paginator.maxSize;
  return { name, job: { ...job, paginator: { ...job.paginator, maxSize } } };
});
const blocks = monitorEventLoopDelay({ resolution: 2 });
blocks.enable();
const start = performance.now();
const cpu = process.cpuUsage();
const missing = await fillRange({
  ...crawl,
  datasets,
  stop,
  readable: { range: order.range, watermark: order.range.to },
});
const { user, system } = process.cpuUsage(cpu);
clearInterval(watching);
const report: CrawlReport = {
  ...total,
  requests: stats.requests,
  seconds: (performance.now() - start) / 1000,
  cpuSeconds: (user + system) / 1e6,
  peakRss: process.resourceUsage().maxRSS * 1024,
  refused: stats.refused,
  mostInFlight,
  steadyRate: steadyRate(),
  longestBlockMs: blocks.percentile(99.9) / 1e6,
};
if (missing.size > 0) throw new Error('the crawl left something out');
await crawl.close();
await store.close();
process.send?.(report);
process.disconnect();

function steadyRate(): number {
  const [first, last] = [sent[Math.floor(sent.length / 4)], sent[Math.floor((3 * sent.length) / 4)]];
  if (first === undefined || last === undefined || last.at === first.at) return 0;
  return ((last.requests - first.requests) * 1000) / (last.at - first.at);
}
