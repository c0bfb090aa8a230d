import { endStrayCopies } from '../ledger/copying.ts';
import { CONFLICT, retry } from '../retry.ts';
import type { CrawlContext } from './crawl-context.ts';
import type { NetworkWatch } from './network-guard.ts';

/**
 * Commits rows if the network that they were read from is certain. Retries on conflicts with other transactions.
 * Partitions may have been dropped meanwhile, and a frozen process may hold rows that it was copying.
 * @throws WrongNetworkError if another network has answered since the reading began
 */
export function commitWithRetry<T>(
  context: Pick<CrawlContext, 'database' | 'partitions' | 'attempts' | 'clock' | 'random'>,
  network: NetworkWatch,
  commit: () => Promise<T>,
): Promise<T> {
  return retry({ ...context, ...CONFLICT, onRetry: () => context.partitions.forget() }, async (attempt) => {
    if (attempt > 1) await endStrayCopies(context.database);
    await network.confirm();
    return commit();
  });
}
