import { setMaxListeners } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';

/** Time as a parameter, so that tests decide what it is. */
export interface Clock {
  /** Wall time, milliseconds since the epoch. */
  now(): number;
  /** Time that never runs backwards, milliseconds since some start. */
  monotonic(): number;
  /** Resolves after `ms`; rejects with an AbortError as soon as `signal` is aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  sleep: (ms, signal) => {
    // All loops of a daemon sleep until one signal: that is meant, and no leak to warn of.
    if (signal !== undefined) setMaxListeners(0, signal);
    return delay(Math.max(0, ms), undefined, signal === undefined ? {} : { signal });
  },
};

interface Rhythm {
  /** Milliseconds between the end of one time and the beginning of the next. */
  readonly pauseMs: number;
  readonly signal: AbortSignal;
  /** True: it begins with the pause. */
  readonly isLater?: boolean;
}

/** Does work again and again, with a pause between, until the signal is aborted. */
export async function every(
  clock: Pick<Clock, 'sleep'>,
  { pauseMs, signal, isLater = false }: Rhythm,
  work: () => Promise<unknown>,
): Promise<void> {
  // The signal alone ends a pause early.
  const pause = () => clock.sleep(pauseMs, signal).catch(() => undefined);
  if (isLater) await pause();
  while (!signal.aborted) {
    await work();
    await pause();
  }
}

/** Unix seconds, as chain time counts. */
export function unixSeconds(clock: Pick<Clock, 'now'>): number {
  return Math.floor(clock.now() / 1000);
}
