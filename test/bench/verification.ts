import { openCrawl, openStore } from '../../src/app.ts';
import { systemClock } from '../../src/clock.ts';
import { readConfig } from '../../src/config.ts';
import { backfill } from '../../src/crawl/backfill.ts';
import { loadJobs } from '../../src/crawl/load-jobs.ts';
import { chooseDatasets } from '../../src/dataset.ts';
import { createLogger } from '../../src/logger.ts';
import { createBlockSource } from '../../src/verify/block-source.ts';
import { verifyRange } from '../../src/verify/verify.ts';
import { SPAN } from './network.ts';
import type { BenchStore } from './store.ts';
import { unlimited } from './unlimited.ts';

export interface Verification {
  readonly seconds: number;
  readonly requests: number;
  /** Seconds of chain time that are proved, as part of what was asked. */
  readonly proved: number;
  readonly findings: readonly string[];
}

/** Reads the blocks of a network whose transactions are stored, and proves both. */
export async function verifyAll(api: string, { url }: BenchStore): Promise<Verification> {
  const config = readConfig({ DATABASE_URL: url, TONCENTER_NETWORK: api }, '/');
  const logger = createLogger({ level: 'warn', format: 'json' });
  const never = new AbortController().signal;
  const stop = { finishing: never, leaving: never };
  const store = await openStore(config, logger, 'bench');
  const crawl = await openCrawl({
    ...{ config, store, logger, stop, baseUrl: api, onPage: () => undefined },
    budget: () => unlimited,
  });
  const jobs = await loadJobs();
  const datasets = chooseDatasets(['blocks', 'transactions'], jobs);
  await backfill({ ...crawl, datasets, reach: { range: SPAN, watermark: SPAN.to }, workers: 4, stop });
  const source = createBlockSource(crawl.context.api, crawl.chain, never);
  const start = performance.now();
  const reports = await verifyRange(
    { database: store.database, jobs, source, clock: systemClock },
    datasets,
    SPAN,
  );
  const seconds = (performance.now() - start) / 1000;
  await crawl.close();
  await store.close();
  const transactions = reports.find(({ dataset }) => dataset.name === 'transactions');
  const proved = (transactions?.verified ?? []).reduce((sum, { from, to }) => sum + to - from, 0);
  return {
    ...{ seconds, requests: source.requests(), proved: proved / (SPAN.to - SPAN.from) },
    findings: reports.flatMap(({ findings }) => findings.map(({ kind, count }) => `${kind}: ${count}`)),
  };
}
