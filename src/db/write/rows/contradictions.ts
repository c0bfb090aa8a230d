import { isDeepStrictEqual } from 'node:util';
import { spanOfSecond, union, type Range } from '../../../range.ts';
import type { TableFacts } from '../../schema/describe.ts';

/**
 * Seconds in which copies of one row contradict each other: both have a value of a column, and not the same. Of a
 * source that says both, neither is confirmed by the other.
 */
export function contradictions({ key }: Pick<TableFacts, 'key'>, rows: readonly object[]): Range[] {
  const copies = new Map<string, Map<string, unknown>>();
  const seconds = new Set<number>();
  for (const row of rows) {
    const values = new Map<string, unknown>(Object.entries(row));
    const name = key.map((column) => String(values.get(column))).join('|');
    const before = copies.get(name);
    if (before === undefined) copies.set(name, values);
    else if (contradict(before, values))
      seconds.add(Math.floor(Date.parse(String(values.get('utime'))) / 1000));
  }
  return union([...seconds].map(spanOfSecond));
}

function contradict(one: ReadonlyMap<string, unknown>, other: ReadonlyMap<string, unknown>): boolean {
  return [...one].some(([column, value]) => {
    const said = other.get(column) ?? null;
    return value != null && said !== null && !isDeepStrictEqual(value, said);
  });
}
