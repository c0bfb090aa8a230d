import { retryRecord } from '../crawl/streams/page/retry-record.ts';
import type { Dataset } from '../dataset/dataset.ts';
import type { Database } from '../postgres/database.ts';
import type { Chosen, Quarantined } from '../read/quarantined.ts';
import { createPartitions, type PartitionSize } from '../write/partitions.ts';
import { everyRecord } from './every-record.ts';

/** Parses stored records with this version's schemas. Returns the number released, and those that do not fit. */
export async function retryStored(
  database: Database,
  partition: PartitionSize,
  jobs: readonly Dataset[],
  chosen: Chosen,
): Promise<{ released: number; unfit: Quarantined[] }> {
  const partitions = createPartitions(database, partition);
  const unfit: Quarantined[] = [];
  let released = 0;
  for await (const record of everyRecord(database, chosen)) {
    const dataset = jobs.find(({ name }) => name === record.dataset);
    const misfit =
      dataset === undefined
        ? { path: '', reason: 'belongs to no stream: its list or look-up asks for it again' }
        : await retryRecord(database, partitions, dataset, record);
    if (misfit === undefined) released += 1;
    else unfit.push({ ...record, path: misfit.path, reason: misfit.reason });
  }
  return { released, unfit };
}
