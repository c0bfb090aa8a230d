import { randomBytes } from 'node:crypto';
import { sql } from 'drizzle-orm';
import { expect } from 'vitest';
import type { Crawl } from '../../src/app/open-crawl.ts';
import type { Config } from '../../src/settings/config.ts';
import { releaseLease } from '../../src/ledger/leases.ts';
import { reopen, type Reopening } from '../../src/write/take-out.ts';
import { fillRange } from '../../src/crawl/streams/read-leases.ts';
import { findReadablePart, type ReadablePart } from '../../src/crawl/streams/readable-part.ts';
import { loadJobs } from '../../src/dataset/load-jobs.ts';
import type { Dataset } from '../../src/dataset/dataset.ts';
import type { Range } from '../../src/range.ts';
import {
  createRepairContext,
  repairRange,
  type RepairContext,
  type Repaired,
} from '../../src/verify/repair.ts';
import { verifyRange, type Verified } from '../../src/verify/verify.ts';
import { datasetsNamed, never, openTestCrawl } from './crawl.ts';
import { openTestStore, type TestStore } from './database/database.ts';
import { startSimulator, type Simulator, type SimulatorOptions } from './simulator/simulator.ts';

/** A crawl of a simulated network that can be verified and repaired. */
export interface Proof {
  readonly context: RepairContext;
  /** How far the network, or a part of it, is safe to read. */
  readable(wanted?: Range): Promise<ReadablePart>;
  cover(datasets: readonly Dataset[], readable: ReadablePart): Promise<Range>;
  /** Does the second reading of those that need one, as if hours had passed. */
  readAgain(datasets: readonly Dataset[], range: Range): Promise<void>;
  verify(datasets: readonly Dataset[], range: Range): Promise<Verified[]>;
  repair(datasets: readonly Dataset[], range: Range, found: readonly Verified[]): Promise<Repaired>;
}

export async function openProof(store: TestStore, crawl: Crawl): Promise<Proof> {
  const jobs = await loadJobs();
  const owner = `test/${randomBytes(3).toString('hex')}`;
  const watermark = crawl.chain.last.utime;
  const options = { jobs, stop: never, watermark, leastPauseSeconds: 0, ignorePauses: false };
  const context: RepairContext = createRepairContext({ ...crawl, owner }, options);
  return {
    context,
    readable: (wanted = { from: 0, to: crawl.chain.last.utime }) =>
      findReadablePart({ ...crawl, wanted, delaySeconds: 0, signal: never.leaving }),
    async cover(datasets, readable) {
      await fillRange({ ...crawl, datasets, readable, stop: never });
      return readable.range!;
    },
    async readAgain(datasets, range) {
      await store.database.run(sql`update etl.pages set committed_at = committed_at - interval '3 days'`);
      await store.database.run(
        sql`update etl.refused set retry_at = retry_at - interval '3 days' where pass = 1`,
      );
      const readable = { range, watermark: range.to + 200_000 };
      await fillRange({ ...crawl, datasets, readable, stop: never, again: true });
    },
    verify: (datasets, range) => verifyRange(context, datasets, range),
    repair: (datasets, range, found) => repairRange(context, datasets, range, found),
  };
}

/** Takes holes out of coverage, and leaves them to the next reader. */
export async function openHoles(
  { database }: TestStore,
  opening: Pick<Reopening, 'stream' | 'holes'> & Partial<Reopening>,
): Promise<void> {
  const opened = { surplus: [], unsealed: [], owner: 'a test', ...opening };
  for (const lease of await reopen(database, opened)) await releaseLease(database, lease);
}

/** The findings of a dataset, by check and kind. */
export function kindsOf(reports: readonly Verified[], name: string): string[] {
  return reports
    .filter(({ dataset }) => dataset.name === name)
    .flatMap(({ findings }) => findings.map(({ check, kind }) => `${check}: ${kind}`));
}

/** Verifies, and expects that nothing is found and that every second has its grade. */
export async function expectProved(proof: Proof, datasets: readonly Dataset[], range: Range): Promise<void> {
  for (const { dataset, findings, verified } of await proof.verify(datasets, range))
    expect([dataset.name, findings, verified]).toEqual([dataset.name, [], [range]]);
}

/** A simulated network, a separate database, and the crawl of the one into the other. */
export interface NetworkProof {
  readonly store: TestStore;
  readonly simulator: Simulator;
  readonly crawl: Crawl;
  readonly proof: Proof;
  /** The named datasets, in the order of the jobs. */
  readonly datasets: Dataset[];
  /** The range that was read. */
  readonly range: Range;
  /** The number of requests that it took. */
  readonly requests: number;
  readonly close: () => Promise<void>;
}

interface NetworkOptions {
  readonly network: SimulatorOptions;
  /** Datasets that are read, as far as the network is safe to read. */
  readonly datasets: readonly string[];
  readonly config?: Partial<Config>;
  /** If true, the crawl is hasty. */
  readonly hasty?: boolean;
  /** Runs before anything is read. */
  readonly prepare?: (store: TestStore, simulator: Simulator) => Promise<void>;
}

/** Opens a network, a database and a crawl, and reads the named datasets. */
export async function openNetworkProof(options: NetworkOptions): Promise<NetworkProof> {
  const { network, config = {}, hasty = false, prepare } = options;
  const [store, simulator] = await Promise.all([openTestStore(), startSimulator(network)]);
  await prepare?.(store, simulator);
  const crawl = await openTestCrawl(store, simulator.url, { config, hasty });
  const proof = await openProof(store, crawl);
  const datasets = await datasetsNamed(...options.datasets);
  const readable = await proof.readable();
  const before = simulator.stats.total;
  const range = datasets.length === 0 ? readable.range! : await proof.cover(datasets, readable);
  return {
    store,
    simulator,
    crawl,
    proof,
    datasets,
    range,
    requests: simulator.stats.total - before,
    close: async () => {
      await crawl.close();
      await simulator.close();
      await store.close();
    },
  };
}
