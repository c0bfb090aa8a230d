import type { Dataset } from '../dataset/dataset.ts';
import { ownTablesOf } from '../tables/owners.ts';
import type { Database } from '../postgres/database.ts';
import { periodOf, type PartitionSize } from './partitions.ts';
import { dropPartition, findExpired, raiseFloor, type Expired, type Kept } from './retention.ts';
import { factsOf } from '../tables/describe.ts';
import { DatabaseConflictError, UsageError } from '../errors.ts';
import { CONFLICT, retry, type RetryContext } from '../retry.ts';

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

/** What one round of retention did. */
export interface Pruned {
  readonly dropped: readonly Expired[];
  /** Somebody was reading these, or has written since a lake was proved to have them: the next round drops them. */
  readonly left: readonly Expired[];
}

/** Moves the floors first, and drops what lies below them. */
export async function prune(
  database: Database,
  kept: readonly Kept[],
  context: RetryContext,
): Promise<Pruned> {
  const dropped: Expired[] = [];
  const left: Expired[] = [];
  const raised: Kept[] = [];
  for (const one of kept) {
    if (await didNotMeet(() => raiseFloor(database, one))) raised.push(one);
    else left.push(...(await findExpired(database, [one])));
  }
  for (const expired of raised.length === 0 ? [] : await findExpired(database, raised)) {
    const proved = raised.find(({ tables }) => tables.includes(expired.table)) ?? {};
    const drop = () => retry({ ...context, ...CONFLICT }, () => dropPartition(database, expired, proved));
    ((await didNotMeet(drop)) ? dropped : left).push(expired);
  }
  return { dropped, left };
}

/** False where sessions read or write it all the while: it is left for the next time. */
async function didNotMeet(work: () => Promise<void>): Promise<boolean> {
  try {
    await work();
    return true;
  } catch (error) {
    if (error instanceof DatabaseConflictError) return false;
    throw error;
  }
}
