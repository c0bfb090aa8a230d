import type { Dataset } from '../../dataset/dataset.ts';
import { ownTablesOf } from '../../dataset/owners.ts';
import type { Database } from '../connection/database.ts';
import { periodOf, type PartitionSize } from '../write/partitions.ts';
import { dropPartition, findExpired, raiseFloors, type Expired, type Kept } from './retention.ts';
import { factsOf } from '../schema/describe.ts';
import { DatabaseConflictError, UsageError } from '../../errors.ts';
import { CONFLICT, retry, type RetryContext } from '../../retry.ts';

/**
 * From when on each dataset is kept. The floor lies at the begin of a partition, so that nothing is half dropped: what
 * is kept is at least as long as was asked for, and at most a partition longer.
 * @throws UsageError for a name that is no dataset, and for one whose rows are no stream of time
 */
export function floorsOf(
  seconds: ReadonlyMap<string, number>,
  jobs: readonly Dataset[],
  now: number,
  size: PartitionSize,
): Kept[] {
  return [...seconds].map(([dataset, keptSeconds]) => {
    const found = jobs.find(({ name }) => name === dataset);
    if (found === undefined) throw new UsageError(`ETL_RETENTION names "${dataset}", which is no dataset`);
    const tables = ownTablesOf(found, jobs)
      .filter(([, table]) => factsOf(table).partitioned)
      .map(([table]) => table);
    if (tables.length === 0) {
      throw new UsageError(
        `ETL_RETENTION names "${dataset}", whose rows are not kept by time: they cannot expire`,
      );
    }
    return { dataset, tables, floor: periodOf(now - keptSeconds, size).from };
  });
}

/** What one round of retention did. */
export interface Pruned {
  readonly dropped: readonly Expired[];
  /** Somebody was reading these: the next round drops them. */
  readonly left: readonly Expired[];
}

/** Moves the floors first, and drops what lies below them. */
export async function prune(
  database: Database,
  kept: readonly Kept[],
  context: RetryContext,
): Promise<Pruned> {
  if (kept.length === 0) return { dropped: [], left: [] };
  await raiseFloors(database, kept);
  const dropped: Expired[] = [];
  const left: Expired[] = [];
  for (const expired of await findExpired(database, kept))
    ((await drop(database, expired, context)) ? dropped : left).push(expired);
  return { dropped, left };
}

/** False where somebody reads it all the while: it is left for the next time. */
async function drop(database: Database, expired: Expired, context: RetryContext): Promise<boolean> {
  try {
    await retry({ ...context, ...CONFLICT }, () => dropPartition(database, expired));
    return true;
  } catch (error) {
    if (error instanceof DatabaseConflictError) return false;
    throw error;
  }
}
