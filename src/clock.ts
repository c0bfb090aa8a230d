import { setMaxListeners } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';

/** Time as a parameter, so that tests control it. */
export interface Clock {
  /** Wall time, milliseconds since the epoch. */
  now(): number;
  /** Monotonic time, milliseconds since some start. */
  monotonic(): number;
  /** Resolves after `ms`; rejects with an AbortError as soon as `signal` is aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  sleep: (ms, signal) => {
    // All loops of a daemon sleep until one signal. This is intended and not a leak.
    if (signal !== undefined) setMaxListeners(0, signal);
    return delay(Math.max(0, ms), undefined, signal === undefined ? {} : { signal });
  },
};

interface Rhythm {
  /** Milliseconds between the end of one run and the start of the next. */
  readonly pauseMs: number;
  readonly signal: AbortSignal;
  /** If true, it begins with the pause. */
  readonly isLater?: boolean;
}

/** Repeats work with a pause in between, until the signal is aborted. */
export async function every(
  clock: Pick<Clock, 'sleep'>,
  { pauseMs, signal, isLater = false }: Rhythm,
  work: () => Promise<unknown>,
): Promise<void> {
  // Only the signal ends a pause early.
  const pause = () => clock.sleep(pauseMs, signal).catch(() => undefined);
  if (isLater) await pause();
  while (!signal.aborted) {
    await work();
    await pause();
  }
}

/** Unix seconds, as in chain time. */
export function unixSeconds(clock: Pick<Clock, 'now'>): number {
  return Math.floor(clock.now() / 1000);
}
