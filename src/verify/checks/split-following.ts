import { common, type Range, union } from '../../range.ts';
import type { Finding, NamedRow } from './finding.ts';

/**
 * Splits off what follows from another finding. It is not read again: it is resolved when the other finding is, and
 * nothing proves it until then. Each thing that the finding names lies in two seconds or more. It may follow if one of
 * `causes` lies between them.
 */
export function splitFollowing(finding: Finding, causes: readonly Range[]): readonly Finding[] {
  const byKey = new Map<string, NamedRow[]>();
  for (const row of finding.rows) byKey.set(row.key, [...(byKey.get(row.key) ?? []), row]);
  // Some of its rows are not named.
  if (byKey.size < finding.count || [...byKey.values()].some((rows) => rows.length < 2)) return [finding];
  const follows = (rows: readonly NamedRow[]) => common([hullOf(rows)], causes).length > 0;
  const part = (outcome: Finding['outcome'], keys: readonly (readonly NamedRow[])[]): Finding[] => {
    const rows = keys.flat();
    const spans = union(rows.map(({ span }) => span));
    return rows.length === 0 ? [] : [{ ...finding, outcome, rows, spans, count: keys.length }];
  };
  const things = [...byKey.values()];
  return [
    ...part(
      finding.outcome,
      things.filter((rows) => !follows(rows)),
    ),
    ...part('follows', things.filter(follows)),
  ];
}

function hullOf(rows: readonly NamedRow[]): Range {
  const spans = rows.map(({ span }) => span);
  return { from: Math.min(...spans.map(({ from }) => from)), to: Math.max(...spans.map(({ to }) => to)) };
}
