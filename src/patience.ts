import type { Clock } from './clock.ts';
import { EtlError } from './errors.ts';
import type { Logger } from './logger.ts';

const FIRST_PAUSE_MS = 1000;
const LONGEST_PAUSE_MS = 60_000;
/** Longer than a task takes that only waits for an API that is away. */
const GOOD_WHILE_MS = 15 * 60_000;

interface PatienceOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Ends the waiting; the task itself listens to its own signals. */
  readonly signal: AbortSignal;
  /** Default: as long as it takes. */
  readonly attempts?: number;
}

/**
 * Runs a task until it succeeds, with growing pauses while the API or the database is away; undefined when told to
 * stop in between.
 * @throws the first error that waiting does not change
 */
export async function patiently<T>(
  options: PatienceOptions,
  what: string,
  task: () => Promise<T>,
): Promise<T | undefined> {
  const { clock, logger, signal, attempts = Infinity } = options;
  const stopped = () => signal.aborted;
  for (let attempt = 1; !stopped(); attempt += 1) {
    const began = clock.monotonic();
    try {
      return await task();
    } catch (error) {
      if (stopped()) return undefined;
      // What has worked for a while met a new trouble, not the one before: a week of work has more than a few.
      if (clock.monotonic() - began > GOOD_WHILE_MS) attempt = 1;
      if (!(error instanceof EtlError) || !error.retryable || attempt >= attempts) throw error;
      const pause = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (attempt - 1));
      logger.warn(
        { what, code: error.code, reason: error.message, pauseMs: pause },
        'waiting before another attempt',
      );
      await clock.sleep(pause, signal).catch(() => undefined);
    }
  }
  return undefined;
}
