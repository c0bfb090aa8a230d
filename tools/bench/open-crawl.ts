import { openCrawl, type Crawl } from '../../src/app/open-crawl.ts';
import { openStore, type Store } from '../../src/app/open-store.ts';
import { systemClock } from '../../src/clock.ts';
import { readConfig } from '../../src/settings/config.ts';
import { loadJobs } from '../../src/dataset/load-jobs.ts';
import { createLogger } from '../../src/logger.ts';
import type { Stop } from '../../src/stop.ts';
import { createBlockSource } from '../../src/verify/checks/block-source.ts';
import type { DeriveContext } from '../../src/verify/derive.ts';
import { unlimited } from './unlimited.ts';

const never = new AbortController().signal;

/** A crawl of a served network into a database, and what verification needs. */
export interface BenchCrawl {
  readonly store: Store;
  readonly crawl: Crawl;
  readonly context: DeriveContext;
  readonly stop: Stop;
  readonly close: () => Promise<void>;
}

export async function openBenchCrawl(api: string, database: string): Promise<BenchCrawl> {
  const config = readConfig({ DATABASE_URL: database, TONCENTER_NETWORK: api }, '/');
  const logger = createLogger({ level: 'warn', format: 'json' });
  const stop = { finishing: never, leaving: never };
  const store = await openStore(config, logger, 'bench');
  const crawl = await openCrawl({
    config,
    store,
    logger,
    stop,
    baseUrl: api,
    budget: () => unlimited,
  });
  const context = {
    database: store.database,
    jobs: await loadJobs(),
    clock: systemClock,
    owner: crawl.owner,
    stop,
    source: createBlockSource(crawl.context.api, crawl.chain, never),
  };
  return {
    store,
    crawl,
    context,
    stop,
    close: async () => {
      await crawl.close();
      await store.close();
    },
  };
}
