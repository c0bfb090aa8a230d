import { IncompleteError } from '../errors.ts';
import type { Logger } from '../logger.ts';
import { formatDuration } from '../range.ts';
import { endedAfter, FINISHING_MS, stopOnSignals, type Stop } from '../stop.ts';
import { reportError } from './output/report-error.ts';

/** Lets a command work until a signal or the deadline tells it to stop, and listens no longer once it has ended. */
export async function withStop<T>(
  logger: Logger,
  work: (stop: Stop) => Promise<T>,
  deadlineMs?: number,
): Promise<T> {
  const signals = stopOnSignals(logger);
  let hasEnded = false;
  const onDeadline = () => {
    if (!hasEnded && !signals.finishing.aborted) reportDeadline(deadlineMs ?? 0);
  };
  try {
    return await work(withDeadline(signals, deadlineMs, onDeadline));
  } finally {
    hasEnded = true;
    signals.dispose();
  }
}

function reportDeadline(ms: number): void {
  const hint = 'What was read is kept; the same command goes on from there.';
  reportError(new IncompleteError(`the ${formatDuration(ms / 1000)} of --deadline are over`, { hint }));
}

/** At the deadline the page in hand may be finished, as at a first Ctrl-C; an API that is away would hold it for long. */
function withDeadline(stop: Stop, ms: number | undefined, onDeadline: () => void): Stop {
  if (ms === undefined) return stop;
  return {
    finishing: endedAfter(stop.finishing, ms, onDeadline),
    leaving: endedAfter(stop.leaving, ms + FINISHING_MS),
  };
}
