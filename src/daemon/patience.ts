import type { Clock } from '../clock.ts';
import { EtlError } from '../errors.ts';
import type { Logger } from '../logger.ts';

const FIRST_PAUSE_MS = 1000;
const LONGEST_PAUSE_MS = 60_000;

interface PatienceOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Ends the waiting; the task itself listens to its own signals. */
  readonly signal: AbortSignal;
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
  const { clock, logger, signal } = options;
  const stopped = () => signal.aborted;
  for (let pause = FIRST_PAUSE_MS; !stopped(); pause = Math.min(LONGEST_PAUSE_MS, pause * 2)) {
    try {
      return await task();
    } catch (error) {
      if (stopped()) return undefined;
      if (!(error instanceof EtlError) || !error.retryable) throw error;
      logger.warn(
        { what, code: error.code, reason: error.message, pauseMs: pause },
        'waiting before another attempt',
      );
      await clock.sleep(pause, signal).catch(() => undefined);
    }
  }
  return undefined;
}
