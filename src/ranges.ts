import type { Range } from './range.ts';

/** The same seconds as ascending ranges that neither overlap nor touch. */
export function union(...lists: readonly (readonly Range[])[]): Range[] {
  const sorted = lists.flat().toSorted((a, b) => a.from - b.from);
  const merged: Range[] = [];
  for (const range of sorted) {
    if (range.from >= range.to) continue;
    const last = merged.at(-1);
    if (last === undefined || range.from > last.to) merged.push(range);
    else if (range.to > last.to) merged[merged.length - 1] = { from: last.from, to: range.to };
  }
  return merged;
}

/** Seconds that lie in both. */
export function common(a: readonly Range[], b: readonly Range[]): Range[] {
  const [left, right] = [union(a), union(b)];
  const shared: Range[] = [];
  let [i, j] = [0, 0];
  for (let x = left[i], y = right[j]; x !== undefined && y !== undefined; x = left[i], y = right[j]) {
    const range = { from: Math.max(x.from, y.from), to: Math.min(x.to, y.to) };
    if (range.from < range.to) shared.push(range);
    if (x.to < y.to) i += 1;
    else j += 1;
  }
  return shared;
}

/** Seconds of `a` that do not lie in `b`. */
export function without(a: readonly Range[], b: readonly Range[]): Range[] {
  return common(a, gaps(union(b)));
}

function gaps(ranges: readonly Range[]): Range[] {
  const edges = [-Infinity, ...ranges.flatMap(({ from, to }) => [from, to]), Infinity];
  return edges.flatMap((from, index) =>
    index % 2 === 0 ? [{ from, to: edges[index + 1] ?? Infinity }] : [],
  );
}
