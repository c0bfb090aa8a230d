import type { Clock } from '../../clock.ts';
import type { Logger } from '../../logger.ts';
import { addCounts, type Counts } from '../../budget/priority.ts';
import type { SharedBudget } from './shared-budget.ts';
import type { Session } from '../connection/database.ts';
import { forgetWorker, reportWorker, type Worker } from './workers.ts';

/** Milliseconds between two signs of life. */
const PERIOD_MS = 5000;

interface HeartbeatOptions {
  readonly database: Session;
  readonly worker: Worker;
  readonly budget: SharedBudget;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Tells the database every few seconds that this process is alive and what it spends, for `status`. Nothing rests on
 * it: where the database is away, what was spent is told when it is back.
 */
export function startHeartbeat({ database, worker, budget, clock, logger }: HeartbeatOptions): {
  stop(): Promise<void>;
} {
  const stopping = new AbortController();
  let untold: Counts = {};
  /** False where the database is away. */
  const tell = async (): Promise<boolean> => {
    untold = addCounts(untold, budget.takeSpent());
    try {
      await reportWorker(database, worker, budget.waiting(), untold);
      untold = {};
      return true;
    } catch (error) {
      logger.debug({ worker: worker.name, reason: String(error) }, 'sign of life not written');
      return false;
    }
  };
  const beat = async () => {
    while (!stopping.signal.aborted) {
      await tell();
      await clock.sleep(PERIOD_MS, stopping.signal).catch(() => undefined);
    }
  };
  const beating = beat();
  return {
    stop: async () => {
      stopping.abort();
      await beating;
      if (await tell()) await forgetWorker(database, worker).catch(() => undefined);
    },
  };
}
