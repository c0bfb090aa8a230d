import { periodOf } from '../write/partitions.ts';
import { intersect, type Range } from '../range.ts';
import { dayOf } from './part.ts';

/** Cuts ranges into days, and groups the pieces by day. */
export function daysOf(ranges: readonly Range[]): Range[][] {
  const days = new Map<string, Range[]>();
  for (const { from, to } of ranges) {
    for (let at = from; at < to; at = periodOf(at, 'day').to) {
      const piece = intersect({ from: at, to }, periodOf(at, 'day'));
      if (piece !== undefined) days.set(dayOf(at), [...(days.get(dayOf(at)) ?? []), piece]);
    }
  }
  return [...days.values()];
}
