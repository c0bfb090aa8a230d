import PQueue from 'p-queue';
import type { InFlight } from '../budget/in-flight.ts';
import type { Clock } from '../clock.ts';
import { urgencyOf, type Priority } from '../budget/priority.ts';

/** How many requests are under way at once, and which is next. */
export interface RequestQueue {
  /**
   * Runs the task when a lane is free, the most urgent first. Rejects with the signal's reason as soon as it is
   * aborted, waiting or running.
   */
  run<T>(priority: Priority, signal: AbortSignal, task: () => Promise<T>): Promise<T>;
  /** Requests that wait for a lane. */
  readonly waiting: number;
}

/** Lanes that only the tail may use: each of its datasets has one, and the poll, whatever the others wait for. */
export const TAIL_LANES = 16;

/** Lanes beyond the requests under way: for those that wait for a slot, or between two attempts. */
const MORE_LANES = 16;

/**
 * As many lanes as requests should be under way and some more, and a few for the tail alone: a request keeps its lane
 * between its attempts, so a backfill that waits out an outage would otherwise keep the head of the chain from even asking.
 */
export function createRequestQueue(
  inFlight: Pick<InFlight, 'target'>,
  clock: Pick<Clock, 'monotonic'>,
): RequestQueue {
  const tail = new PQueue({ concurrency: TAIL_LANES });
  const rest = new PQueue({ concurrency: inFlight.target + MORE_LANES });
  return {
    run: (priority, signal, task) => {
      rest.concurrency = inFlight.target + MORE_LANES;
      const queue = priority === 'tail' ? tail : rest;
      return queue.add(task, { priority: urgencyOf(priority, clock), signal });
    },
    get waiting() {
      return tail.size + rest.size;
    },
  };
}
