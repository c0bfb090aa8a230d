import type { RowSum } from '../write/compare-rows.ts';

/** Adds rows by second to the sums of a table. */
export function addRows(
  sums: Map<string, Map<number, RowSum>>,
  table: string,
  seconds: Iterable<readonly [second: number, added: RowSum]>,
): void {
  const sum = sums.get(table) ?? new Map<number, RowSum>();
  for (const [second, { rows, keys }] of seconds) {
    const before = sum.get(second);
    sum.set(second, { rows: (before?.rows ?? 0) + rows, keys: (before?.keys ?? 0n) + keys });
  }
  sums.set(table, sum);
}

/** True if both sums are of the same rows. A row that is counted twice does not make up for a missing one. */
export function isSameSum(a: RowSum | undefined, b: RowSum): boolean {
  return a?.rows === b.rows && a.keys === b.keys;
}
