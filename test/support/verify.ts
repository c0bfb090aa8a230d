import { randomBytes } from 'node:crypto';
import type { Crawl } from '../../src/app.ts';
import { systemClock } from '../../src/clock.ts';
import { backfill, reachOf } from '../../src/crawl/backfill.ts';
import { loadJobs } from '../../src/crawl/load-jobs.ts';
import type { Dataset } from '../../src/dataset.ts';
import type { Range } from '../../src/range.ts';
import { createBlockSource } from '../../src/verify/block-source.ts';
import { repairRange, type RepairContext, type Repaired } from '../../src/verify/repair.ts';
import { verifyRange, type Verified } from '../../src/verify/verify.ts';
import { never } from './crawl.ts';
import type { TestStore } from './database.ts';

/** A crawl of a simulated network that can be verified and repaired. */
export interface Proof {
  readonly context: RepairContext;
  /** Covers all of the network that is safe to read, or a part of it. */
  cover(datasets: readonly Dataset[], wanted?: Range): Promise<Range>;
  verify(datasets: readonly Dataset[], range: Range): Promise<Verified[]>;
  repair(datasets: readonly Dataset[], range: Range, found: readonly Verified[]): Promise<Repaired>;
}

export async function openProof(store: TestStore, crawl: Crawl): Promise<Proof> {
  const jobs = await loadJobs();
  const source = createBlockSource(crawl.context.api, crawl.chain, never.leaving);
  const context: RepairContext = {
    ...{ database: store.database, source, jobs, clock: systemClock, crawl: crawl.context, stop: never },
    ...{ planner: crawl.planner, watermark: crawl.chain.last.utime, leastPause: 0, insist: false },
    owner: `test/${randomBytes(3).toString('hex')}`,
  };
  return {
    context,
    async cover(datasets, wanted = { from: 0, to: crawl.chain.last.utime }) {
      const reach = await reachOf(crawl.context, crawl.chain, wanted, 0, never.leaving);
      await backfill({ ...crawl, datasets, reach, workers: 2, stop: never });
      return reach.range!;
    },
    verify: (datasets, range) => verifyRange(context, datasets, range),
    repair: (datasets, range, found) => repairRange(context, datasets, range, found),
  };
}
