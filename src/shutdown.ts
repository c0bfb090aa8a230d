import type { Logger } from './logger.ts';
import type { Stop } from './stop.ts';

/** A page that takes longer than this to finish is dropped; systemd and Docker kill soon after. */
export const PATIENCE_MS = 10_000;

/** `Stop` from the process' signals: the first finishes the page, the second leaves at once. */
export function stopOnSignals(logger: Logger): Stop & { dispose(): void } {
  const finishing = new AbortController();
  const leaving = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const onSignal = (signal: NodeJS.Signals) => {
    if (finishing.signal.aborted) {
      leaving.abort();
      return;
    }
    logger.info({ signal }, 'finishing the page in hand; once more to leave at once');
    finishing.abort();
    timer = setTimeout(() => leaving.abort(), PATIENCE_MS);
    timer.unref();
  };
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal);
  return {
    finishing: finishing.signal,
    leaving: leaving.signal,
    dispose() {
      clearTimeout(timer);
      process.off('SIGINT', onSignal).off('SIGTERM', onSignal);
    },
  };
}
