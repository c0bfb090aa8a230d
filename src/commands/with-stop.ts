import type { Logger } from '../logger.ts';
import { endedAfter, FINISHING_MS, stopOnSignals, type Stop } from '../stop.ts';

/** Lets a command work until a signal or the deadline tells it to stop, and listens no longer once it has ended. */
export async function withStop<T>(
  logger: Logger,
  work: (stop: Stop) => Promise<T>,
  deadlineMs?: number,
): Promise<T> {
  const signals = stopOnSignals(logger);
  try {
    return await work(withDeadline(signals, deadlineMs));
  } finally {
    signals.dispose();
  }
}

/** At the deadline the page in hand may be finished, as at a first Ctrl-C; an API that is away would hold it for long. */
function withDeadline(stop: Stop, ms: number | undefined): Stop {
  if (ms === undefined) return stop;
  return {
    finishing: endedAfter(stop.finishing, ms),
    leaving: endedAfter(stop.leaving, ms + FINISHING_MS),
  };
}
