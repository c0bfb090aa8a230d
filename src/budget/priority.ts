import type { Clock } from '../clock.ts';

/**
 * What a request is for, the most urgent first: the head of the chain, ranges found missing, history, and
 * what is only read again because it may have changed.
 */
export const PRIORITIES = ['tail', 'repair', 'backfill', 'refresh'] as const;

export type Priority = (typeof PRIORITIES)[number];

/** 0 for the most urgent. */
export function rankOf(priority: Priority): number {
  return PRIORITIES.indexOf(priority);
}

/** So much longer than the next more urgent priority each one waits in a queue, and then as long as any other. */
const PATIENCE_MS = 10_000;

/**
 * The place of a request in a queue that is served by the greatest number first: the more urgent goes first, unless the
 * other one came ten seconds earlier for each rank between them, so none waits without end.
 */
export function urgencyOf(priority: Priority, { monotonic }: Pick<Clock, 'monotonic'>): number {
  return -(monotonic() + PATIENCE_MS * rankOf(priority));
}

/** How many of each priority; none where one is missing. */
export type Counts = Partial<Readonly<Record<Priority, number>>>;

export function addCounts(a: Counts, b: Counts): Counts {
  return Object.fromEntries(
    PRIORITIES.map((priority) => [priority, (a[priority] ?? 0) + (b[priority] ?? 0)] as const).filter(
      ([, count]) => count > 0,
    ),
  );
}
