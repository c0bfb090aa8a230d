import type { Rows, Tables } from '../../../dataset/rows.ts';
import type { Lines } from './line-bytes.ts';
import { linesOfRows } from './lines.ts';
import type { Partitions } from '../partitions.ts';
import type { Target } from './target.ts';

/** Rows of all records by table, as `inOrder` puts them. */
export function rowsByTable(tables: Tables, records: readonly Rows[]): Lines[] {
  return inOrder(
    Object.entries(tables).map(([name, table]) =>
      linesOfRows(
        table,
        records.flatMap((rows) => rows[name] ?? []),
      ),
    ),
  );
}

/**
 * Tables in the one order in which all processes write them, so that two commits wait for each other instead of
 * deadlocking.
 */
export function inOrder(byTable: readonly Lines[]): Lines[] {
  return byTable.toSorted((a, b) => byRank(a.target, b.target));
}

export function byRank(a: Target, b: Target): number {
  return rank(a) < rank(b) ? -1 : 1;
}

/**
 * Parts come before their wholes: an older copy of a whole shows which parts are out of date, as long as it is there. Rows
 * that other pages bring too come last: whoever brings one waits until the first to write it has committed.
 */
function rank({ name, facts }: Target): string {
  const isPart = facts.supersedes !== undefined && facts.supersedes.of !== name;
  const whole = facts.shared === undefined ? 1 : 2;
  return `${isPart ? 0 : whole} ${name}`;
}

/** Makes the partitions that the rows need: before the transaction that writes them. */
export async function ensurePartitions(partitions: Partitions, byTable: readonly Lines[]): Promise<void> {
  for (const { target, times } of byTable) await partitions.ensure([target.table], times);
}
