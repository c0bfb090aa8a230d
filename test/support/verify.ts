import { randomBytes } from 'node:crypto';
import { sql } from 'drizzle-orm';
import type { Crawl } from '../../src/app.ts';
import { backfill } from '../../src/crawl/streams/backfill.ts';
import { reachOf, type Reach } from '../../src/crawl/streams/reach.ts';
import { loadJobs } from '../../src/dataset/load-jobs.ts';
import type { Dataset } from '../../src/dataset/dataset.ts';
import type { Range } from '../../src/range.ts';
import { createRepairContext } from '../../src/verify/repair-context.ts';
import { repairRange, type RepairContext, type Repaired } from '../../src/verify/repair.ts';
import { verifyRange, type Verified } from '../../src/verify/verify.ts';
import { never } from './crawl.ts';
import type { TestStore } from './database/database.ts';

/** A crawl of a simulated network that can be verified and repaired. */
export interface Proof {
  readonly context: RepairContext;
  /** How far the network, or a part of it, is safe to read. */
  reach(wanted?: Range): Promise<Reach>;
  cover(datasets: readonly Dataset[], reach: Reach): Promise<Range>;
  /** Reads what takes a second reading again, as if hours had passed. */
  readAgain(datasets: readonly Dataset[], range: Range): Promise<void>;
  verify(datasets: readonly Dataset[], range: Range): Promise<Verified[]>;
  repair(datasets: readonly Dataset[], range: Range, found: readonly Verified[]): Promise<Repaired>;
}

export async function openProof(store: TestStore, crawl: Crawl): Promise<Proof> {
  const jobs = await loadJobs();
  const owner = `test/${randomBytes(3).toString('hex')}`;
  const watermark = crawl.chain.last.utime;
  const options = { jobs, stop: never, watermark, leastPause: 0, insist: false };
  const context: RepairContext = createRepairContext({ ...crawl, owner }, options);
  return {
    context,
    reach: (wanted = { from: 0, to: crawl.chain.last.utime }) =>
      reachOf({ ...crawl, wanted, delaySeconds: 0, signal: never.leaving }),
    async cover(datasets, reach) {
      await backfill({ ...crawl, datasets, reach, stop: never });
      return reach.range!;
    },
    async readAgain(datasets, range) {
      await store.database.run(sql`update etl.pages set committed_at = committed_at - interval '3 days'`);
      await store.database.run(
        sql`update etl.refused set retry_at = retry_at - interval '3 days' where pass = 1`,
      );
      const reach = { range, watermark: range.to + 200_000 };
      await backfill({ ...crawl, datasets, reach, stop: never, again: true });
    },
    verify: (datasets, range) => verifyRange(context, datasets, range),
    repair: (datasets, range, found) => repairRange(context, datasets, range, found),
  };
}
