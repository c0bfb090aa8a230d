import { loadJobs } from '../dataset/load-jobs.ts';
import type { CrawlContext } from '../crawl/crawl-context.ts';
import { readDeletionMarks, type PartitionMark } from '../db/coverage/deletions.ts';
import { formatRange, lengthOf } from '../range.ts';
import type { Stop } from '../stop.ts';
import { openVanished } from '../verify/vanished.ts';
import type { DaemonContext } from './daemon-context.ts';
import { runRounds } from './daemon-context.ts';

/** A partition rests for so many times as long as it took to count it: at most a twentieth of the time goes into it. */
const REST = 20;

/** Milliseconds between two polls for rows that were deleted. */
const PERIOD_MS = 1000;

interface WatchOptions {
  readonly context: Pick<CrawlContext, 'database' | 'clock' | 'logger'>;
  readonly stop: Stop;
  readonly onDeleted?: DaemonContext['onDeleted'];
}

/** Notices rows that somebody deletes from the stream tables while the daemon runs. */
export interface DeletionWatch {
  /** Finds the partitions that lost rows since the last poll, and makes holes of what is gone; the first poll only remembers. */
  poll(): Promise<void>;
}

/**
 * Postgres counts the rows that are deleted from each partition, so a poll costs next to nothing; only where the count
 * has moved are rows held against their receipts. What the program itself deletes has its receipts taken off, and is not
 * found there.
 */
export async function createDeletionWatch({
  context,
  stop,
  onDeleted,
}: WatchOptions): Promise<DeletionWatch> {
  const { database, clock, logger } = context;
  const jobs = await loadJobs();
  const known = new Map<string, string>();
  const resting = new Map<string, number>();
  const keyOf = ({ table, span }: PartitionMark) => `${table}/${span.from}`;
  let first = true;
  return {
    async poll() {
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
        for (const { dataset, scope, spans } of vanished) {
          onDeleted?.(dataset, lengthOf(spans));
          logger.warn(
            {
              dataset,
              scope,
              table,
              seconds: lengthOf(spans),
              range: spans.slice(0, 3).map(formatRange).join(),
            },
            'rows were deleted from the database: their time is a hole now and is read again; check who has write access',
          );
        }
      }
      first = false;
    },
  };
}

/** Rows that somebody deletes are a hole within seconds, and then read again as any other. */
export async function runDeletionWatch(daemon: DaemonContext): Promise<void> {
  const watch = await createDeletionWatch(daemon);
  await runRounds(daemon, { what: 'the watch for deletions', periodMs: PERIOD_MS }, () => watch.poll());
}
