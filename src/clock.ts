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

/** Unix seconds, as chain time counts. */
export function unixSeconds(clock: Pick<Clock, 'now'>): number {
  return Math.floor(clock.now() / 1000);
}
