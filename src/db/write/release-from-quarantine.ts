import type { Rows, Tables } from '../../dataset/rows.ts';
import type { Extra } from '../../dataset/record.ts';
import { subtractCoverage, type Stream } from '../coverage/coverage.ts';
import type { Database } from '../connection/database.ts';
import { insertStaged, stageRows } from './rows/insert.ts';
import { lockTables } from './rows/lock-tables.ts';
import type { Partitions } from './partitions.ts';
import { countDrift, releaseRecords } from './quarantine.ts';
import { ensurePartitions, rowsByTable } from './rows/rows-by-table.ts';
import { spanOfSecond } from '../../range.ts';
import { writeTransaction } from './write-transaction.ts';

/** A quarantined record that fits now, and what it becomes. */
interface Released {
  readonly stream: Stream;
  readonly recordId: string;
  /** The second in which the stream holds it, in unix seconds. */
  readonly second: number;
  readonly tables: Tables;
  readonly rows: Rows;
  readonly extra: Extra;
}

/**
 * Writes the rows of a quarantined record and takes it out of quarantine, in one transaction: both or neither. A second
 * reading that confirmed its second has not compared them, so another must.
 */
export async function release(
  database: Database,
  partitions: Partitions,
  { stream, recordId, second, tables, rows, extra }: Released,
): Promise<void> {
  const byTable = rowsByTable(tables, [rows]);
  await ensurePartitions(partitions, byTable);
  await writeTransaction(database, async (session) => {
    const staged = await stageRows(session, byTable);
    // A second reading that is about to be confirmed is waited for, and sees the rows otherwise.
    await lockTables(
      session,
      staged.map(({ target }) => target),
      'shared',
    );
    await subtractCoverage(session, { ...stream, pass: 1 }, [spanOfSecond(second)]);
    await insertStaged(session, staged);
    if (Object.keys(extra).length > 0) await countDrift(session, stream.dataset, [extra]);
    await releaseRecords(session, stream, [recordId]);
  });
}
