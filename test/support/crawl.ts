import { sql } from 'drizzle-orm';
import { openCrawl, type Crawl } from '../../src/app/open-crawl.ts';
import { systemClock, type Clock } from '../../src/clock.ts';
import { readConfig, type Config } from '../../src/settings/config.ts';
import { loadJobs } from '../../src/dataset/load-jobs.ts';
import { chooseDatasets, type Dataset } from '../../src/dataset/dataset.ts';
import { createLogger, type Logger } from '../../src/logger.ts';
import type { Stop } from '../../src/stop.ts';
import { borrowedStore } from './database/borrowed-store.ts';
import type { TestStore } from './database/database.ts';

export const never: Stop = { finishing: new AbortController().signal, leaving: new AbortController().signal };

export const silent = createLogger({ level: process.env['TEST_LOG'] ?? 'silent', format: 'json' });

export const testConfig = (changes: Partial<Config> = {}): Config => ({
  ...readConfig({ TONCENTER_RPS: '1000', LOG_FORMAT: 'json' }, '/nowhere'),
  ...changes,
});

interface CrawlChanges {
  readonly stop?: Stop;
  readonly config?: Partial<Config>;
  readonly maxAttempts?: number;
  readonly logger?: Logger;
  /** If true, a request is retried at once, and the clock of the crawl is a hundred times as fast. */
  readonly hasty?: boolean;
}

/** A crawl for one test, at a high rate, without the second that a new budget leaves free. */
export async function openTestCrawl(
  store: TestStore,
  baseUrl: string,
  changes: CrawlChanges = {},
): Promise<Crawl> {
  const config = testConfig({
    ...changes.config,
    ...(changes.maxAttempts !== undefined && { attempts: changes.maxAttempts }),
  });
  await makeBudget(store, new URL(baseUrl).host, config.rps);
  const crawl = await openCrawl({
    config,
    store: borrowedStore(store),
    logger: changes.logger ?? silent,
    stop: changes.stop ?? never,
    baseUrl,
    ...(changes.hasty === true && { random: () => 0 }),
  });
  return changes.hasty === true ? { ...crawl, context: { ...crawl.context, clock: hastyClock } } : crawl;
}

/** Sleeps a hundredth of the time. */
const hastyClock: Clock = {
  ...systemClock,
  sleep: (ms, signal) => systemClock.sleep(ms / 100, signal),
};

/** A budget whose first request may go out at once. */
async function makeBudget({ database }: TestStore, host: string, rps: number): Promise<void> {
  await database.run(sql`
    insert into etl.budget (host, rps, free_at, slack, server_started_at)
    values (${host}, ${rps}, 0, 0, extract(epoch from pg_postmaster_start_time()))
    on conflict (host) do nothing`);
}

export async function datasetsNamed(...names: string[]): Promise<Dataset[]> {
  return chooseDatasets(names, await loadJobs());
}
