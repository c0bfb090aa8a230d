import PQueue from 'p-queue';
import type { Clock } from '../clock.ts';
import { urgencyOf, type Priority } from './priority.ts';

/** The right to hold one response in memory. */
export interface ResponsePlace {
  free(): void;
}

/** So many responses at once. */
export interface Places {
  /** Resolves when a place is free, the most urgent first; rejects with the signal's reason as soon as it is aborted. */
  take(priority: Priority, signal: AbortSignal): Promise<ResponsePlace>;
  /** How many are held. */
  readonly taken: number;
}

export function createPlaces(count: number, clock: Pick<Clock, 'monotonic'>): Places {
  const queue = new PQueue({ concurrency: count });
  return {
    take: (priority, signal) =>
      new Promise((resolve, reject) => {
        const hold = () => new Promise<void>((free) => resolve({ free }));
        queue.add(hold, { priority: urgencyOf(priority, clock), signal }).catch(reject);
      }),
    get taken() {
      return queue.pending;
    },
  };
}
