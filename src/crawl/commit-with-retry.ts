import { DatabaseConflictError } from '../errors.ts';
import type { CrawlContext } from './crawl-context.ts';

/** Transactions that met are tried again so often before what was read is given up. */
const ATTEMPTS = 6;

/** Runs a commit until no other transaction stands in its way; partitions may have been dropped meanwhile. */
export async function commitWithRetry(
  { partitions, clock }: Pick<CrawlContext, 'partitions' | 'clock'>,
  commit: () => Promise<void>,
): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await commit();
      return;
    } catch (error) {
      if (!(error instanceof DatabaseConflictError) || attempt >= ATTEMPTS) throw error;
      partitions.forget();
      await clock.sleep(20 * 2 ** attempt * Math.random());
    }
  }
}
