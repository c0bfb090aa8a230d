import { every, type Clock } from '../clock.ts';
import type { Logger } from '../logger.ts';
import { addCounts, type Counts } from '../budget/priority.ts';
import type { SharedBudget } from './shared-budget.ts';
import type { Session } from '../postgres/database.ts';
import { forgetWorker, reportWorker, type Worker } from './workers.ts';

/** Milliseconds between two heartbeats. */
const PERIOD_MS = 5000;

interface HeartbeatOptions {
  readonly database: Session;
  readonly worker: Worker;
  readonly budget: SharedBudget;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Reports to the database every few seconds that this process is alive and which requests it has spent, for `status`.
 * Nothing depends on it. If the database is unreachable, the requests are reported once it is back.
 */
export function startHeartbeat({ database, worker, budget, clock, logger }: HeartbeatOptions): {
  stop(): Promise<void>;
} {
  const stopping = new AbortController();
  let unreported: Counts = {};
  /** False if the database is unreachable. */
  const report = async (): Promise<boolean> => {
    unreported = addCounts(unreported, budget.takeSpent());
    try {
      await reportWorker(database, worker, budget.waiting(), unreported);
      unreported = {};
      return true;
    } catch (error) {
      logger.debug({ worker: worker.name, reason: String(error) }, 'heartbeat failed');
      return false;
    }
  };
  const beating = every(clock, { pauseMs: PERIOD_MS, signal: stopping.signal }, report);
  return {
    stop: async () => {
      stopping.abort();
      await beating;
      if (await report()) await forgetWorker(database, worker).catch(() => undefined);
    },
  };
}
