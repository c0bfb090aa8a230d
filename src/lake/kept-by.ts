import { loadDatasets, loadJobs } from '../dataset/load-jobs.ts';
import type { Database } from '../db/connection/database.ts';
import { readClock } from '../db/connection/server-clock.ts';
import { floorsOf } from '../db/coverage/expire.ts';
import { readSavedWatermark } from '../db/coverage/stored-watermark.ts';
import type { PartitionSize } from '../db/write/partitions.ts';
import { tablesOf } from '../export/tables-of.ts';
import { withLake } from './open-lake.ts';
import { provedFloors } from './proved-floors.ts';

/** What the settings say of what is kept. */
interface Keeping {
  readonly retention: { readonly seconds: ReadonlyMap<string, number>; readonly isInLake: boolean };
  readonly lake: string | undefined;
  readonly partition: PartitionSize;
}

/**
 * From when on each dataset is kept: as the settings say, and where they say `lake`, no further than the lake was proved.
 * Of this machine's clock, of the database's and of the newest known block, the earliest time counts: a clock that is
 * ahead must not drop what is to be kept.
 */
export async function keptBy(
  { retention, lake: place, partition }: Keeping,
  database: Database,
  now: number,
): Promise<Awaited<ReturnType<typeof provedFloors>>> {
  const newest = (await readSavedWatermark(database))?.headUtime ?? Infinity;
  const until = Math.min(now, await readClock(database), newest);
  const kept = floorsOf(retention.seconds, await loadJobs(), until, partition);
  if (!retention.isInLake || place === undefined) return { kept, unproved: [] };
  const available = await loadDatasets();
  const tables = tablesOf(available, available);
  return withLake(place, (lake) => provedFloors({ lake, database, tables, kept }));
}
