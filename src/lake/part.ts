import { formatTime, type Range, intersect } from '../range.ts';
import { periodOf } from '../write/target.ts';

/** A file of a lake: rows of one table and one day, and facts about them from the program that wrote it. */
export interface Part {
  /** Path below the table's folder. */
  readonly path: string;
  /** `2026-01-01`, UTC: the day of the rows' block time; for a snapshot, the day when it was taken. */
  readonly day: string;
  /** The seconds of block time of which the part holds every row; for a snapshot, the second when it was taken. */
  readonly span: Range;
  readonly rows: number;
  /** The sum of the hashes of the rows' keys, as in the seals of the database; null for a snapshot. */
  readonly keys: string | null;
  readonly bytes: number;
  readonly sha256: string;
  /** The newest `loaded_at` of the rows when they were read. */
  readonly changedAt: string | null;
  /** The sum of the times at which the rows were written, in microseconds; null if an older version omitted it. */
  readonly loaded: string | null;
  /** The grade of the rows, for each dataset that fills the table. */
  readonly grades: Readonly<Record<string, string>>;
  /** Version of the program that wrote the part, and of its schema. */
  readonly program: string;
  readonly schema: string;
}

export function dayOf(second: number): string {
  return formatTime(second).slice(0, 10);
}

/** Parts with different contents have different names, so that none is overwritten. */
export function pathOf({ from, to }: Range, sha256: string): string {
  const compact = (second: number) => formatTime(second).replace(/[-:]/g, '');
  return `day=${dayOf(from)}/part-${compact(from)}-${compact(to)}-${sha256.slice(0, 12)}.parquet`;
}

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
