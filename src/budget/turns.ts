import type { Clock } from '../clock.ts';

interface TurnsOptions {
  /** Turns a second, for all names together. */
  readonly perSecond: number;
  /** The most concurrent turns. */
  readonly most: () => number;
  readonly clock: Clock;
  /** Ends the waits. */
  readonly signal: AbortSignal;
}

/** Lets several kinds of work take turns, so that none waits for the end of another. */
export interface Turns {
  /** Runs the work at this name's turn. Each waiting name gets one turn before any gets a second one. */
  take<T>(name: string, work: () => Promise<T>): Promise<T>;
}

/** For work that must never take more than its share of the budget, even if the rest is unused. */
export function createTurns({ perSecond, most, clock, signal }: TurnsOptions): Turns {
  /** Waiting work by name, the longest waiting name first. */
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
