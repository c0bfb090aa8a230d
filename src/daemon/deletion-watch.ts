import { loadJobs } from '../dataset/load-jobs.ts';
import type { CrawlContext } from '../crawl/crawl-context.ts';
import { readDeletionMarks, type PartitionMark } from '../db/coverage/deletions.ts';
import { formatRange, lengthOf } from '../range.ts';
import type { Stop } from '../stop.ts';
import { openVanished } from '../verify/vanished.ts';

/** A partition rests for so many times as long as it took to count it: at most a twentieth of the time goes into it. */
const REST = 20;

interface SentryOptions {
  readonly context: Pick<CrawlContext, 'database' | 'clock' | 'logger'>;
  readonly stop: Stop;
}

/** Notices rows that somebody deletes from the stream tables while the daemon runs. */
export interface Sentry {
  /** Looks which partitions lost rows since the last look, and makes holes of what is gone; the first look only remembers. */
  look(): Promise<void>;
}

/**
 * Postgres counts the rows that are deleted from each partition, so a look costs next to nothing; only where the count
 * has moved are rows held against their receipts. What the program itself deletes has its receipts taken off, and is not
 * found there.
 */
export async function createSentry({ context, stop }: SentryOptions): Promise<Sentry> {
  const { database, clock, logger } = context;
  const jobs = await loadJobs();
  const known = new Map<string, string>();
  const resting = new Map<string, number>();
  const keyOf = ({ table, span }: PartitionMark) => `${table}/${span.from}`;
  let first = true;
  return {
    async look() {
      for (const partition of await readDeletionMarks(database)) {
        const { table, span, mark } = partition;
        const key = keyOf(partition);
        if (first || !known.has(key)) known.set(key, mark);
        const isQuiet = known.get(key) === mark || clock.monotonic() < (resting.get(key) ?? 0);
        if (isQuiet || stop.finishing.aborted) continue;
        const began = clock.monotonic();
        const vanished = await openVanished({ database, jobs, signal: stop.finishing }, table, span);
        known.set(key, mark);
        resting.set(key, clock.monotonic() + REST * (clock.monotonic() - began));
        for (const { dataset, scope, spans } of vanished)
          logger.warn(
            {
              dataset,
              scope,
              table,
              seconds: lengthOf(spans),
              range: spans.slice(0, 3).map(formatRange).join(),
            },
            'rows were deleted from the database: their time is a hole now and is read again; look who has write access',
          );
      }
      first = false;
    },
  };
}
