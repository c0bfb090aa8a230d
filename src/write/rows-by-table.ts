import type { Rows, Tables } from '../dataset/rows.ts';
import type { Lines } from './line-bytes.ts';
import { linesOfRows } from './lines.ts';
import type { Partitions } from './partitions.ts';
import { byRank } from './target.ts';

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

/** Makes the partitions that the rows need: before the transaction that writes them. */
export async function ensurePartitions(partitions: Partitions, byTable: readonly Lines[]): Promise<void> {
  for (const { target, times } of byTable) await partitions.ensure([target.table], times);
}
