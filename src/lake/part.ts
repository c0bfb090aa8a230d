import { formatTime, type Range } from '../range.ts';

/** A file of a lake: rows of one table, of one day, and what its writer knew of them. */
export interface Part {
  /** Below the table's folder. */
  readonly path: string;
  /** `2026-01-01`, UTC: of the rows' block time; of a snapshot, when it was taken. */
  readonly day: string;
  /** The seconds of block time of which the part holds every row; of a snapshot, the second when it was taken. */
  readonly span: Range;
  readonly rows: number;
  /** The sum of the hashes of the rows' keys, as the seals of the database have them; null for a snapshot. */
  readonly keys: string | null;
  readonly bytes: number;
  /** Of the file. */
  readonly sha256: string;
  /** The newest `loaded_at` of the rows when they were read. */
  readonly changedAt: string | null;
  /** The sum of the times at which the rows were written, in microseconds; null for a part that was written without it. */
  readonly loaded: string | null;
  /** How far to trust the rows, for each dataset that fills the table. */
  readonly grades: Readonly<Record<string, string>>;
  /** Version of the program that wrote the part, and of its schema. */
  readonly program: string;
  readonly schema: string;
}

export function dayOf(second: number): string {
  return formatTime(second).slice(0, 10);
}

/** Parts of other contents have other names, so that none is ever overwritten. */
export function pathOf({ from, to }: Range, sha256: string): string {
  const compact = (second: number) => formatTime(second).replace(/[-:]/g, '');
  return `day=${dayOf(from)}/part-${compact(from)}-${compact(to)}-${sha256.slice(0, 12)}.parquet`;
}
