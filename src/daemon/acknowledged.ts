import type { PageEvent } from '../crawl/crawl-context.ts';
import type { Session } from '../db/connection/database.ts';
import { countPages } from '../db/read/count-pages.ts';
import type { Logger } from '../logger.ts';

/** The pages of this process that a server has acknowledged: after a failover the new one may lack some. */
export interface Acknowledged {
  readonly add: (page: Pick<PageEvent, 'completed'>) => void;
  /** Logs how many are not there. Their coverage went with them, so that they are read again. */
  compare(database: Session, logger: Logger): Promise<void>;
}

/** `worker`: the name under which this process writes pages. */
export function createAcknowledged(worker: string): Acknowledged {
  let count = 0;
  return {
    add: ({ completed }) => {
      if (completed !== undefined) count += 1;
    },
    async compare(database, logger) {
      if (count === 0) return;
      const held = await countPages(database, worker);
      const lost = count - held;
      if (lost > 0)
        logger.warn({ pages: count, missing: lost }, 'the new server lacks pages: they are read again');
      count = held;
    },
  };
}
