import type { Clock } from '../clock.ts';

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
