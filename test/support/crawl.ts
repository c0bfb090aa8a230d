import { createLocalBudget } from '../../src/api/rate.ts';
import { openCrawl, type Crawl } from '../../src/app.ts';
import { systemClock } from '../../src/clock.ts';
import { readConfig, type Config } from '../../src/config.ts';
import { loadJobs } from '../../src/dataset/load-jobs.ts';
import { chooseDatasets, type Dataset } from '../../src/dataset/dataset.ts';
import { createLogger } from '../../src/logger.ts';
import type { Stop } from '../../src/stop.ts';
import type { TestStore } from './database.ts';

export const never: Stop = { finishing: new AbortController().signal, leaving: new AbortController().signal };

export const silent = createLogger({ level: process.env['TEST_LOG'] ?? 'silent', format: 'json' });

export const testConfig = (changes: Partial<Config> = {}): Config => ({
  ...readConfig({ TONCENTER_RPS: '1000', LOG_FORMAT: 'json' }, '/nowhere'),
  ...changes,
});

/** A crawl of a test's own, without a limit of its rate, and without the second that a new shared budget leaves free. */
export function openTestCrawl(
  store: TestStore,
  baseUrl: string,
  changes: { stop?: Stop; config?: Partial<Config>; maxAttempts?: number } = {},
): Promise<Crawl> {
  const config = testConfig({
    ...changes.config,
    ...(changes.maxAttempts !== undefined && { attempts: changes.maxAttempts }),
  });
  return openCrawl({
    config,
    store: { database: store.database, embedded: undefined, close: () => Promise.resolve() },
    logger: silent,
    stop: changes.stop ?? never,
    baseUrl,
    budget: () => createLocalBudget({ rps: config.rps, clock: systemClock }),
  });
}

export async function datasetsNamed(...names: string[]): Promise<Dataset[]> {
  return chooseDatasets(names, await loadJobs());
}
