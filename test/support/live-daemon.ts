import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'drizzle-orm';
import { afterEach, beforeEach } from 'vitest';
import * as z from 'zod';
import { streamOf } from '../../src/crawl/streams/planner.ts';
import { runDaemon } from '../../src/daemon/daemon.ts';
import { readCoverage } from '../../src/ledger/stored-coverage.ts';
import type { Range } from '../../src/range.ts';
import type { Stop } from '../../src/stop.ts';
import { datasetsNamed, openTestCrawl, silent, testConfig } from './crawl.ts';
import { openTestStore, type TestStore } from './database/database.ts';
import { startSimulator, type Simulator, type SimulatorOptions } from './simulator/simulator.ts';

/** `ETL_WATERMARK_DELAY` of the daemon. */
export const DELAY = 4;

/** Serves a live network to each test of a file, and runs the daemon of blocks and transactions against it. */
export function useLiveDaemon() {
  let store: TestStore;
  let simulator: Simulator;
  beforeEach(async () => {
    store = await openTestStore();
  });
  afterEach(async () => {
    await simulator.close();
    await store.close();
  });

  const covered = async (name: string): Promise<Range[]> => {
    const [dataset] = await datasetsNamed(name);
    return readCoverage(store.database, streamOf(dataset!));
  };

  return {
    store: () => store,
    database: () => store.database,
    simulator: () => simulator,
    /** A network that began some hours ago. */
    serve: async (options: SimulatorOptions, hours = 1.3): Promise<void> => {
      const now = Math.floor(Date.now() / 1000);
      simulator = await startSimulator({
        start: now - 3600 * hours,
        load: 0.5,
        live: { head: now },
        ...options,
      });
    },
    /** Runs a daemon until `until` is true, and stops it as SIGTERM would. */
    runUntil: async (since: string, until: () => Promise<boolean>, logger = silent): Promise<void> => {
      const finishing = new AbortController();
      const stop: Stop = { finishing: finishing.signal, leaving: new AbortController().signal };
      const config = { since, watermarkDelaySeconds: DELAY, freshnessSeconds: 3, rps: 200 };
      const crawl = await openTestCrawl(store, simulator.url, { stop, config, maxAttempts: 2, logger });
      const datasets = await datasetsNamed('blocks', 'transactions');
      const over = new AbortController();
      const daemon = runDaemon({ ...crawl, datasets, config: testConfig(config), stop }).finally(() => {
        over.abort();
      });
      while (!over.signal.aborted && !(await until())) await delay(100);
      finishing.abort();
      await daemon;
      await crawl.close();
    },
    covered,
    /** The end of a dataset's newest coverage; 0 without any. */
    endOf: async (name: string): Promise<number> => (await covered(name)).at(-1)?.to ?? 0,
    storedTransactions: async ({ from, to }: Range): Promise<number> => {
      const [row] = await store.database.rows(
        sql`select count(*) as count from ton.transactions where utime >= to_timestamp(${from}) and utime < to_timestamp(${to})`,
        z.object({ count: z.coerce.number() }),
      );
      return row?.count ?? 0;
    },
  };
}
