import { endStrayCopies } from '../db/coordination/copying.ts';
import { CONFLICT, retry } from '../retry.ts';
import type { CrawlContext } from './crawl-context.ts';

/**
 * Runs a commit until no other transaction stands in its way; partitions may have been dropped meanwhile, and a process in
 * the way may have been standing still for a long time.
 */
export function commitWithRetry<T>(
  context: Pick<CrawlContext, 'database' | 'partitions' | 'attempts' | 'clock' | 'random'>,
  commit: (attempt: number) => Promise<T>,
): Promise<T> {
  return retry({ ...context, ...CONFLICT, onRetry: () => context.partitions.forget() }, async (attempt) => {
    if (attempt > 1) await endStrayCopies(context.database);
    return commit(attempt);
  });
}
