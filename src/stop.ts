import type { Logger } from './logger.ts';
import { stdoutGone } from './terminal/stdout.ts';

/** How a process ends: `finishing` lets the page in hand be committed, `leaving` drops it. */
export interface Stop {
  /** Aborted first: no new page is begun. */
  readonly finishing: AbortSignal;
  /** Aborted on a second signal or when finishing takes too long: requests are cut, transactions rolled back. */
  readonly leaving: AbortSignal;
}

/** Resolves as soon as the signal is aborted; at once where it was. */
export function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

/** A page that takes longer than this to finish is dropped; systemd and Docker kill soon after. */
export const FINISHING_MS = 10_000;

const ENDING: readonly NodeJS.Signals[] = ['SIGINT', 'SIGTERM'];

/**
 * `Stop` from the process' signals: the first finishes the page, the second leaves at once. The end of the terminal that
 * the log goes to (SIGHUP) is such a signal, too. A stdout that nobody reads counts as the first.
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
    logger.info({ signal }, 'finishing the page in hand; once more to leave at once');
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
 * Aborts with the signal, or after so long, and calls `onTime` before. Timer and controller of our own: Node 20 may collect an
 * `AbortSignal.timeout` that only a combined signal holds.
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
 * Takes signals that mean nothing here, each of which would end the process or, SIGUSR1, open Node's debugger to whoever
 * is on this machine. Without a terminal SIGHUP is one of them: there is no file to be opened again.
 */
export function ignoreOtherSignals(logger: Logger): void {
  const onSignal = (signal: NodeJS.Signals) => {
    logger.info({ signal }, 'signal ignored');
  };
  process.on('SIGUSR1', onSignal).on('SIGUSR2', onSignal);
  if (!process.stderr.isTTY) process.on('SIGHUP', onSignal);
}
