import { afterEach, beforeEach } from 'vitest';
import type { Crawl } from '../../src/app/open-crawl.ts';
import { openTestCrawl } from './crawl.ts';
import { openTestStore, type TestStore } from './database/database.ts';
import { startSimulator, type Simulator, type SimulatorOptions } from './simulator/simulator.ts';

/** A database for each test of a file, and the network that the test serves. */
export function useNetwork(defaults: SimulatorOptions) {
  let store: TestStore;
  let simulator: Simulator | undefined;
  const required = (): Simulator => {
    if (simulator === undefined) throw new Error('the test serves no network');
    return simulator;
  };
  beforeEach(async () => {
    store = await openTestStore();
  });
  afterEach(async () => {
    await simulator?.close();
    simulator = undefined;
    await store.close();
  });
  return {
    get store() {
      return store;
    },
    get simulator() {
      return required();
    },
    /** Serves another network in place of the previous one. */
    serve: async (options: SimulatorOptions = {}): Promise<Simulator> => {
      await simulator?.close();
      simulator = await startSimulator({ ...defaults, ...options });
      return simulator;
    },
    /** Works with a crawl of the network, and closes it. */
    crawl: async <T>(
      work: (crawl: Crawl) => Promise<T>,
      changes: Parameters<typeof openTestCrawl>[2] = {},
    ): Promise<T> => {
      const crawl = await openTestCrawl(store, required().url, changes);
      try {
        return await work(crawl);
      } finally {
        await crawl.close();
      }
    },
  };
}
