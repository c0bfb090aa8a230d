import { openCrawl, openStore } from '../../src/app.ts';
import { systemClock } from '../../src/clock.ts';
import { readConfig } from '../../src/config.ts';
import { backfill, reachOf } from '../../src/crawl/backfill.ts';
import { loadJobs } from '../../src/crawl/load-jobs.ts';
import { chooseDatasets } from '../../src/dataset.ts';
import { createLogger } from '../../src/logger.ts';
import { startSimulator } from '../../src/simulator/server.ts';
import { createBlockSource } from '../../src/verify/block-source.ts';
import { deriveTransactions } from '../../src/verify/derive.ts';
import type { BenchServer } from './store.ts';
import { unlimited } from './unlimited.ts';

const START = Date.UTC(2026, 0, 1) / 1000;
/** An hour of a chain as busy as mainnet is. */
const NETWORK = { start: START, duration: 3600, load: 20, accounts: 2000, seed: 9 };

export interface Spent {
  readonly transactions: number;
  readonly requests: number;
  /** Of those, to the endpoint of transactions. */
  readonly toTransactions: number;
}

/** What a backfill of the core datasets asks for, with or without what trace pages have brought being counted. */
export async function crawlCore(server: BenchServer, deriving: boolean): Promise<Spent> {
  const simulator = await startSimulator(NETWORK);
  const bench = await server.create(deriving ? 'derived' : 'asked', { from: START, to: START + 3600 });
  const config = readConfig({ DATABASE_URL: bench.url, TONCENTER_NETWORK: simulator.url }, '/');
  const logger = createLogger({ level: 'warn', format: 'json' });
  const never = new AbortController().signal;
  const stop = { finishing: never, leaving: never };
  const store = await openStore(config, logger, 'bench');
  const { database } = store;
  const crawl = await openCrawl({
    ...{ config, store, logger, stop, baseUrl: simulator.url, onPage: () => undefined },
    budget: () => unlimited,
  });
  const jobs = await loadJobs();
  const datasets = chooseDatasets(['core'], jobs);
  const wanted = { from: 0, to: crawl.chain.last.utime };
  const reach = await reachOf(crawl.context, crawl.chain, wanted, 0, never);
  const source = createBlockSource(crawl.context.api, crawl.chain, never);
  const context = { database, jobs, source, clock: systemClock, owner: crawl.owner, stop };
  const derived = {
    dataset: 'transactions',
    derive: (range: { from: number; to: number }) => deriveTransactions(context, range),
  };
  await backfill({ ...crawl, datasets, reach, workers: 4, stop, ...(deriving && { derived }) });
  const { rows } = await bench.client.query<{ count: string }>('select count(*) from ton.transactions');
  const spent = {
    transactions: Number(rows[0]?.count),
    requests: crawl.context.api.stats.requests,
    toTransactions: simulator.stats.byPath.get('/api/v3/transactions') ?? 0,
  };
  await crawl.close();
  await store.close();
  await bench.close();
  await simulator.close();
  return spent;
}
