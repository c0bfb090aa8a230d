import type { Bounds } from '../../bounds.ts';

import { listed, type OrderedRows } from '../../simulator-rows.ts';

/** Positions of those rows whose value lies in a range, in the order of the value, ties in their own order. */
export function sortedWithin<T>(
  rows: readonly T[],
  value: (row: T) => number,
  { first, last }: Bounds,
): OrderedRows {
  const found = rows
    .map((row, index) => ({ index, value: value(row) }))
    .filter((row) => row.value >= first && row.value <= last);
  return listed(found.toSorted((a, b) => a.value - b.value || a.index - b.index).map(({ index }) => index));
}

/** Positions of those rows that pass. */
export function indexes<T>(rows: readonly T[], passes: (row: T) => boolean): OrderedRows {
  return listed(rows.flatMap((row, index) => (passes(row) ? [index] : [])));
}

/** @throws RangeError if there is no such row. */
export function at<T>(rows: readonly T[], row: number): T {
  const found = rows[row];
  if (found === undefined) throw new RangeError(`There is no recorded row ${row}.`);
  return found;
}
