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

/** How many of each priority; none where one is missing. */
export type Counts = Partial<Readonly<Record<Priority, number>>>;

export function addCounts(a: Counts, b: Counts): Counts {
  return Object.fromEntries(
    PRIORITIES.map((priority) => [priority, (a[priority] ?? 0) + (b[priority] ?? 0)] as const).filter(
      ([, count]) => count > 0,
    ),
  );
}
