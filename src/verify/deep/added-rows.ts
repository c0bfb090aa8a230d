/** Adds rows by second to the sums of a table. */
export function addRows(
  sums: Map<string, Map<number, number>>,
  table: string,
  seconds: Iterable<readonly [second: number, rows: number]>,
): void {
  const sum = sums.get(table) ?? new Map<number, number>();
  for (const [second, rows] of seconds) sum.set(second, (sum.get(second) ?? 0) + rows);
  sums.set(table, sum);
}
