import type { Logger } from './logger.ts';
import { stdoutGone } from './terminal/terminal.ts';

/** How a process ends: `finishing` commits the current page, `leaving` drops it. */
export interface Stop {
  /** Aborted first: no new page is started. */
  readonly finishing: AbortSignal;
  /** Aborted on a second signal, or if finishing takes too long: requests are aborted and transactions rolled back. */
  readonly leaving: AbortSignal;
}

/** Resolves as soon as the signal is aborted; at once if it already is. */
export function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

/** A page that takes longer than this to finish is dropped. systemd and Docker kill soon after. */
export const FINISHING_MS = 10_000;

const ENDING: readonly NodeJS.Signals[] = ['SIGINT', 'SIGTERM'];

/**
 * A `Stop` from the process' signals: the first signal finishes the page, the second one leaves at once. SIGHUP counts
 * as one if the log goes to a terminal. If no process reads stdout any more, that counts as the first signal.
 */
export function stopOnSignals(logger: Logger): Stop & { dispose(): void } {
  const finishing = new AbortController();
  const leaving = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const onSignal = (signal: NodeJS.Signals) => {
    if (finishing.signal.aborted) {
      leaving.abort();
      return;
    }
    logger.info({ signal }, 'shutting down after the current page; press Ctrl-C again to force');
    finishing.abort();
    timer = setTimeout(() => leaving.abort(), FINISHING_MS);
    timer.unref();
  };
  const onGone = () => finishing.abort();
  const signals: readonly NodeJS.Signals[] = process.stderr.isTTY ? [...ENDING, 'SIGHUP'] : ENDING;
  for (const signal of signals) process.on(signal, onSignal);
  stdoutGone.addEventListener('abort', onGone);
  return {
    finishing: finishing.signal,
    leaving: leaving.signal,
    dispose() {
      clearTimeout(timer);
      for (const signal of signals) process.off(signal, onSignal);
      stdoutGone.removeEventListener('abort', onGone);
    },
  };
}

/** A longer timer would fire at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/**
 * Aborts with the signal, or after `ms`, and calls `onTime` before. It has its own timer and controller,
 * because Node 20 may collect an `AbortSignal.timeout` that only a combined signal refers to.
 */
export function endedAfter(signal: AbortSignal, ms: number, onTime?: () => void): AbortSignal {
  const controller = new AbortController();
  const end = () => controller.abort();
  const endOnTime = () => {
    onTime?.();
    end();
  };
  setTimeout(endOnTime, Math.min(ms, LONGEST_TIMER_MS)).unref();
  signal.addEventListener('abort', end, { once: true });
  return controller.signal;
}

/**
 * Handles signals that have no meaning here. By default they would end the process or, for SIGUSR1, open Node's
 * debugger to every local user. Without a terminal SIGHUP is one of them, because there is no log file to reopen.
 */
export function ignoreOtherSignals(logger: Logger): void {
  const onSignal = (signal: NodeJS.Signals) => {
    logger.info({ signal }, 'signal ignored');
  };
  process.on('SIGUSR1', onSignal).on('SIGUSR2', onSignal);
  if (!process.stderr.isTTY) process.on('SIGHUP', onSignal);
}
