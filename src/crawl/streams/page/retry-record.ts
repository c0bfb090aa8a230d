import { parseJson } from '../../../api/response/parse-json.ts';
import type { Dataset } from '../../../dataset/dataset.ts';
import type { Database } from '../../../postgres/database.ts';
import type { Partitions } from '../../../write/partitions.ts';
import type { Quarantined } from '../../../read/quarantined.ts';
import { release } from '../../../write/commit.ts';
import { readRecords } from './read-page.ts';

/** Why a record still does not fit. */
interface Misfit {
  readonly path: string;
  readonly reason: string;
}

/**
 * Reads a quarantined record with this version's schema, without a request to the API. If it fits, its rows
 * are written and it leaves quarantine.
 * @returns undefined if it was released, else why it does not fit
 */
export async function retryRecord(
  database: Database,
  partitions: Partitions,
  { name, job }: Dataset,
  record: Quarantined,
): Promise<Misfit | undefined> {
  const { accepted, rejected } = readRecords(job, [parseJson(record.raw)]);
  const [fitting] = accepted;
  if (fitting === undefined) return rejected[0] ?? { path: '', reason: 'does not fit its schema' };
  await release(database, partitions, {
    stream: { dataset: name, scope: record.scope, pass: 0 },
    recordId: record.recordId,
    second: fitting.position.utime,
    tables: job.tables,
    rows: fitting.rows,
    extra: fitting.extra,
  });
  return undefined;
}
