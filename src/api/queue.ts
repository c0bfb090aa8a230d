import PQueue from 'p-queue';
import { rankOf, type Priority } from '../budget/priority.ts';

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

/** Lanes that only the tail may use. */
export const TAIL_LANES = 4;

/**
 * A queue of `lanes` lanes, and a few more for the tail: a request keeps its lane between its attempts, so a backfill
 * that waits out an outage would otherwise keep the head of the chain from even asking.
 */
export function createRequestQueue(lanes: number): RequestQueue {
  const tail = new PQueue({ concurrency: TAIL_LANES });
  const rest = new PQueue({ concurrency: lanes });
  return {
    run: (priority, signal, task) => {
      const queue = priority === 'tail' ? tail : rest;
      return queue.add(task, { priority: -rankOf(priority), signal });
    },
    get waiting() {
      return tail.size + rest.size;
    },
  };
}
