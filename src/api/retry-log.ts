import type { Clock } from '../clock.ts';
import type { Logger } from '../logger.ts';
import type { Attempt } from './exchange.ts';

/** A server in trouble fails hundreds of requests: one of them a minute is worth a warning, in milliseconds. */
const EVERY_MS = 60_000;

interface FailedAttempt extends Pick<Attempt, 'path' | 'priority' | 'attempt'> {
  readonly reason: string;
  readonly pauseMs: number;
}

/** Logs attempts that failed: the first of a minute as a warning, with how many were none since the last; all others at debug. */
export function createRetryLog(
  logger: Logger,
  clock: Pick<Clock, 'monotonic'>,
): (failed: FailedAttempt) => void {
  let warnedAt = -Infinity;
  let retries = 0;
  return (failed) => {
    if (clock.monotonic() - warnedAt < EVERY_MS) {
      retries += 1;
      logger.debug({ ...failed }, 'request failed, trying again');
      return;
    }
    logger.warn({ ...failed, retries }, 'request failed, trying again');
    warnedAt = clock.monotonic();
    retries = 0;
  };
}
