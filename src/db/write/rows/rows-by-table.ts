import type { Rows, Tables } from '../../../dataset/job.ts';
import type { Partitions } from '../partitions.ts';
import { targetOf, type Target } from './target.ts';

/** The rows of one table. */
export type TableRows = readonly [table: object, rows: readonly object[]];

/**
 * Rows of all records by table, tables in the one order in which all processes write them, so that two commits wait for
 * each other instead of deadlocking.
 */
export function rowsByTable(tables: Tables, records: readonly Rows[]): TableRows[] {
  return Object.entries(tables)
    .map(([name, table]): TableRows => [table, records.flatMap((rows) => rows[name] ?? [])])
    .sort(([a], [b]) => (rank(targetOf(a)) < rank(targetOf(b)) ? -1 : 1));
}

/** Parts come before their wholes: an older copy of a whole shows which parts are out of date, as long as it is there. */
function rank({ name, facts }: Target): string {
  const isPart = facts.supersedes !== undefined && facts.supersedes.of !== name;
  return `${isPart ? 'part' : 'whole'} ${name}`;
}

/** Makes the partitions that the rows need: before the transaction that writes them. */
export async function ensurePartitions(partitions: Partitions, byTable: readonly TableRows[]): Promise<void> {
  for (const [table, rows] of byTable) await partitions.ensure([table], blockTimes(rows));
}

function blockTimes(rows: readonly object[]): Set<string> {
  const times = new Set<string>();
  for (const row of rows) if ('utime' in row && typeof row.utime === 'string') times.add(row.utime);
  return times;
}
