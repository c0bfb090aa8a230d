import type { TableFacts } from '../../schema/describe.ts';

export type DistinctRow = Readonly<Record<string, unknown>>;

/** Rows sorted by the text of their key; of equal keys the first, with its `fill` columns filled from later ones. */
export function distinctRows(facts: TableFacts, rows: readonly object[]): DistinctRow[] {
  const byKey = new Map<string, DistinctRow>();
  for (const row of rows.filter(isRow)) {
    const key = facts.key.map((column) => String(row[column])).join('|');
    const first = byKey.get(key);
    byKey.set(key, first === undefined ? row : mergeRows(facts, first, row));
  }
  return [...byKey].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row);
}

function isRow(row: object): row is DistinctRow {
  return !Array.isArray(row);
}

/** One row of two with the same key, of which `first` came first. */
export function mergeRows({ conflict }: TableFacts, first: DistinctRow, later: DistinctRow): DistinctRow {
  if (conflict.kind === 'keep') return first;
  if (conflict.kind === 'replace') return later;
  if (conflict.kind === 'newer') return compare(later[conflict.by], first[conflict.by]) >= 0 ? later : first;
  const filled = conflict.columns.filter((column) => isAbsent(first[column]) && !isAbsent(later[column]));
  return filled.length === 0
    ? first
    : { ...first, ...Object.fromEntries(filled.map((column) => [column, later[column]])) };
}

function isAbsent(value: unknown): boolean {
  return value === null || value === undefined;
}

/** Digit strings by their number, times by their text. */
function compare(a: unknown, b: unknown): number {
  const [x, y] = [String(a), String(b)];
  return x.length - y.length || (x < y ? -1 : x > y ? 1 : 0);
}
