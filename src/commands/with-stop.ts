import type { Logger } from '../logger.ts';
import { FINISHING_MS, stopOnSignals, type Stop } from '../stop.ts';

/** A longer timer would fire at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

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

/** Timer and controller of our own: Node 20 may collect an `AbortSignal.timeout` that only a combined signal holds. */
function endedAfter(signal: AbortSignal, ms: number): AbortSignal {
  const controller = new AbortController();
  const end = () => controller.abort();
  setTimeout(end, Math.min(ms, LONGEST_TIMER_MS)).unref();
  signal.addEventListener('abort', end, { once: true });
  return controller.signal;
}
