import { IncompleteError } from '../errors.ts';
import type { Clock } from '../clock.ts';

/**
 * The right to send requests. The API counts the requests of all keys and processes of a network. So every
 * sender asks here first and reports the outcome. From that, the budget learns the possible rate.
 */
export interface Budget {
  /**
   * Resolves when one request may be sent. The caller sends it at once, without slow work in between. The
   * more urgent request goes first. Rejects with the signal's reason as soon as it is aborted.
   */
  take(priority: Priority, signal: AbortSignal): Promise<void>;
  /**
   * Reports that the server refused a request because of the rate (429), or asked for a pause (`Retry-After`,
   * in milliseconds from now). No request is sent until the pause is over, and later ones are slower.
   * `elapsedMs`: the time since `take` resolved for this request.
   */
  refused(retryAfterMs: number | undefined, elapsedMs?: number): void | Promise<void>;
  /**
   * Reports that the server let a request through, whatever else it answered. `elapsedMs`: the time since
   * `take` resolved for it. By now the server has certainly counted the request.
   */
  succeeded(elapsedMs: number): void | Promise<void>;
  /** Unix milliseconds at which a pause of more than a minute ends, if the server has asked for one. */
  pausedUntil?(): number | undefined;
}

/** A budget that ends after `most` requests: the next request gets an IncompleteError. */
export function createCappedBudget(budget: Budget, most: number): Budget {
  let left = most;
  return {
    async take(priority, signal) {
      if (left <= 0) {
        throw new IncompleteError(`all ${most} requests of --max-requests are spent`, {
          hint: 'What was read is kept. The same command continues from there.',
        });
      }
      left -= 1;
      await budget.take(priority, signal);
    },
    pausedUntil: () => budget.pausedUntil?.(),
    refused: (retryAfterMs, elapsedMs) => budget.refused(retryAfterMs, elapsedMs),
    succeeded: (elapsedMs) => budget.succeeded(elapsedMs),
  };
}

/**
 * The purpose of a request, the most urgent first: the head of the chain, ranges found missing, history, and
 * second readings of rows that may have changed.
 */
export const PRIORITIES = ['tail', 'repair', 'backfill', 'refresh'] as const;

export type Priority = (typeof PRIORITIES)[number];

/** 0 for the most urgent. */
export function rankOf(priority: Priority): number {
  return PRIORITIES.indexOf(priority);
}

/** The head start of each priority over the next one in a queue, in milliseconds. */
const PATIENCE_MS = 10_000;

/**
 * The priority of a request in a queue that serves the greatest number first. The more urgent request goes first,
 * unless the other one came ten seconds earlier for each rank between them. So no request waits without end.
 */
export function urgencyOf(priority: Priority, { monotonic }: Pick<Clock, 'monotonic'>): number {
  return -(monotonic() + PATIENCE_MS * rankOf(priority));
}

/** Counts by priority; a missing priority means 0. */
export type Counts = Partial<Readonly<Record<Priority, number>>>;

export function addCounts(a: Counts, b: Counts): Counts {
  return Object.fromEntries(
    PRIORITIES.map((priority) => [priority, (a[priority] ?? 0) + (b[priority] ?? 0)] as const).filter(
      ([, count]) => count > 0,
    ),
  );
}
