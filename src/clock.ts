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

/** A signal that follows other signals until it is released. */
interface LinkedSignal {
  readonly signal: AbortSignal;
  /** Removes the listeners, so that a source that outlives the link keeps nothing of it. */
  release(): void;
}

/**
 * A signal that is aborted as soon as one of its sources is, for the same reason. `AbortSignal.any` does the
 * same, but on Node 20 each combination leaves some hundred bytes in a source until the source itself is
 * freed. One of the sources here is the signal that ends the process.
 */
export function linkSignals(...sources: readonly (AbortSignal | undefined)[]): LinkedSignal {
  const controller = new AbortController();
  const undo: (() => void)[] = [];
  for (const source of sources) {
    if (source === undefined) continue;
    if (source.aborted) controller.abort(source.reason);
    const follow = () => {
      controller.abort(source.reason);
    };
    // Many requests listen to one signal. This is intended and not a leak.
    setMaxListeners(0, source);
    source.addEventListener('abort', follow, { once: true });
    undo.push(() => {
      source.removeEventListener('abort', follow);
    });
  }
  setMaxListeners(0, controller.signal);
  return {
    signal: controller.signal,
    release: () => {
      for (const step of undo) step();
    },
  };
}

/** A sleep that can be ended early when there is something to do. */
interface InterruptibleSleep {
  /** Resolves after `ms`, or as soon as it is ended. */
  sleep(ms: number): Promise<void>;
  /** Ends the current sleep, if there is one. */
  end(): void;
}

export function createInterruptibleSleep(clock: Clock): InterruptibleSleep {
  let current = new AbortController();
  return {
    sleep: async (ms) => {
      current = new AbortController();
      const { signal } = current;
      // Rounded up to whole milliseconds: a timer that fires early would be one request too many in its window.
      await clock.sleep(Math.ceil(ms), signal).catch((error: unknown) => {
        if (!signal.aborted) throw error;
      });
    },
    end: () => {
      current.abort();
    },
  };
}
