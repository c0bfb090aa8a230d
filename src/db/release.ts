import type { Rows, Tables } from '../job.ts';
import type { Extra } from '../record.ts';
import type { Stream } from './coverage.ts';
import type { Database } from './database.ts';
import { insertStaged, stageRows, targetOf } from './insert.ts';
import type { Partitions } from './partitions.ts';
import { countDrift, releaseRecords } from './quarantine.ts';
import { writingOrder } from './writing-order.ts';

/** A quarantined record that fits now, and what it becomes. */
interface Released {
  readonly stream: Stream;
  readonly recordId: string;
  readonly tables: Tables;
  readonly rows: Rows;
  readonly extra: Extra;
}

/** Writes the rows of a quarantined record and takes it out of quarantine, in one transaction: both or neither. */
export async function release(
  database: Database,
  partitions: Partitions,
  { stream, recordId, tables, rows, extra }: Released,
): Promise<void> {
  const byTable = Object.entries(tables)
    .map(([name, table]): [object, readonly object[]] => [table, rows[name] ?? []])
    .sort(([a], [b]) => writingOrder(targetOf(a), targetOf(b)));
  for (const [table, list] of byTable) await partitions.ensure([table], timesOf(list));
  await database.transaction(async (session) => {
    await insertStaged(session, await stageRows(session, byTable));
    if (Object.keys(extra).length > 0) await countDrift(session, stream.dataset, [extra]);
    await releaseRecords(session, stream, [recordId]);
  });
}

function timesOf(rows: readonly object[]): string[] {
  return rows.flatMap((row) => ('utime' in row && typeof row.utime === 'string' ? [row.utime] : []));
}
