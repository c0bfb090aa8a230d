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
