import { setMaxListeners } from 'node:events';

/** A signal that follows other signals until it is released. */
export interface LinkedSignal {
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
