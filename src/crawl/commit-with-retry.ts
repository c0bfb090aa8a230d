import { CONFLICT, retry } from '../retry.ts';
import type { CrawlContext } from './crawl-context.ts';

/** Runs a commit until no other transaction stands in its way; partitions may have been dropped meanwhile. */
export function commitWithRetry(
  context: Pick<CrawlContext, 'partitions' | 'attempts' | 'clock' | 'random'>,
  commit: () => Promise<void>,
): Promise<void> {
  return retry({ ...context, ...CONFLICT, onRetry: () => context.partitions.forget() }, commit);
}
