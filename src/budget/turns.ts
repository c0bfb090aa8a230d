import type { Clock } from '../clock.ts';

interface TurnsOptions {
  /** Turns a second, of all together. */
  readonly perSecond: number;
  /** Turns that may be under way at once. */
  readonly most: () => number;
  readonly clock: Clock;
  /** Ends the waits. */
  readonly signal: AbortSignal;
}

/** Lets several kinds of work take turns, so that none waits for the end of another. */
export interface Turns {
  /** Works when it is this name's turn: each name that waits gets one before any gets a second. */
  take<T>(name: string, work: () => Promise<T>): Promise<T>;
}

/** For work that must never take more than its share of the budget, whoever else has nothing to do. */
export function createTurns({ perSecond, most, clock, signal }: TurnsOptions): Turns {
  /** What waits, by name; the name that has waited longest for a turn first. */
  const waiting = new Map<string, (() => void)[]>();
  let [next, underWay, isServing] = [0, 0, false];
  const serve = async () => {
    if (isServing) return;
    isServing = true;
    while (waiting.size > 0 && underWay < most()) {
      const waitMs = next - clock.monotonic();
      if (waitMs > 0) await clock.sleep(waitMs, signal).catch(() => undefined);
      next = Math.max(clock.monotonic(), next) + 1000 / perSecond;
      underWay += 1;
      letNextGo(waiting);
    }
    isServing = false;
  };
  return {
    take: async (name, work) => {
      await new Promise<void>((resolve) => {
        waiting.set(name, [...(waiting.get(name) ?? []), resolve]);
        void serve();
      });
      try {
        return await work();
      } finally {
        underWay -= 1;
        void serve();
      }
    },
  };
}

function letNextGo(waiting: Map<string, (() => void)[]>): void {
  const [first] = waiting;
  if (first === undefined) return;
  const [name, [go, ...others]] = first;
  waiting.delete(name);
  if (others.length > 0) waiting.set(name, others);
  go?.();
}
