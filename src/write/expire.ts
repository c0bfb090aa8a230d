import type { Dataset } from '../dataset/dataset.ts';
import { ownTablesOf } from '../tables/owners.ts';
import type { Database } from '../postgres/database.ts';
import { periodOf, type PartitionSize } from './partitions.ts';
import { dropPartition, findExpired, raiseFloor, type Expired, type Kept } from './retention.ts';
import { factsOf } from '../tables/describe.ts';
import { DatabaseConflictError, UsageError } from '../errors.ts';
import { CONFLICT, retry, type RetryContext } from '../retry.ts';

/**
 * The time from which each dataset is kept. The floor is the beginning of a partition, so that no partition is
 * dropped in part. Rows are kept at least as long as requested, and at most a partition longer.
 * @throws UsageError if a name is no dataset, or if the dataset's rows are no stream of time
 */
export function floorsOf(
  seconds: ReadonlyMap<string, number>,
  jobs: readonly Dataset[],
  now: number,
  size: PartitionSize,
): Kept[] {
  return [...seconds].map(([dataset, keptSeconds]) => {
    const found = jobs.find(({ name }) => name === dataset);
    if (found === undefined) throw new UsageError(`ETL_RETENTION names "${dataset}", which is not a dataset`);
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

export interface Pruned {
  readonly dropped: readonly Expired[];
  /**
   * A session was reading these, or rows were written after a lake was proved to have them: the next round drops them.
   */
  readonly left: readonly Expired[];
}

/** Raises the floors, then drops the partitions below them. */
export async function prune(
  database: Database,
  kept: readonly Kept[],
  context: RetryContext,
): Promise<Pruned> {
  const dropped: Expired[] = [];
  const left: Expired[] = [];
  const raised: Kept[] = [];
  for (const one of kept) {
    if (await hadNoConflict(() => raiseFloor(database, one))) raised.push(one);
    else left.push(...(await findExpired(database, [one])));
  }
  for (const expired of raised.length === 0 ? [] : await findExpired(database, raised)) {
    const proved = raised.find(({ tables }) => tables.includes(expired.table)) ?? {};
    const drop = () => retry({ ...context, ...CONFLICT }, () => dropPartition(database, expired, proved));
    ((await hadNoConflict(drop)) ? dropped : left).push(expired);
  }
  return { dropped, left };
}

/** False if other sessions kept reading or writing it: it is left for the next round. */
async function hadNoConflict(work: () => Promise<void>): Promise<boolean> {
  try {
    await work();
    return true;
  } catch (error) {
    if (error instanceof DatabaseConflictError) return false;
    throw error;
  }
}
