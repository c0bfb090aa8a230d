import { retryRecord } from '../crawl/streams/page.ts';
import type { Dataset } from '../dataset/dataset.ts';
import type { Database } from '../postgres/database.ts';
import { type Chosen, type Quarantined, readQuarantined, forgetUnseen } from '../read/quarantined.ts';
import { createPartitions, type PartitionSize } from '../write/partitions.ts';
import type { CrawlContext } from '../crawl/crawl-context.ts';
import { fillHoles } from '../crawl/streams/fill-holes.ts';
import { splitAtArchive, type Planner } from '../crawl/streams/planner.ts';
import type { ChainInfo } from '../crawl/chain-info.ts';
import { readCoverage, type Stream } from '../ledger/stored-coverage.ts';
import { common, union, without } from '../range.ts';
import type { Stop } from '../stop.ts';
import { databaseTime } from '../postgres/server-clock.ts';

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

/** Records that are read from the database at once. */
const PAGE = 200;

/** Yields the chosen records in quarantine, with a few hundred in memory at a time. */
export async function* everyRecord(database: Database, chosen: Chosen): AsyncGenerator<Quarantined> {
  for (let after = 0; ;) {
    const page = await readQuarantined(database, chosen, { after, limit: PAGE });
    yield* page;
    const last = page.at(-1);
    if (last === undefined) return;
    after = last.id;
  }
}

interface Rereading {
  readonly crawl: CrawlContext;
  readonly planner: Planner;
  readonly chain: ChainInfo;
  readonly owner: string;
  readonly stop: Stop;
}

/** Requests the seconds of records that do not fit again from the API. */
export async function rereadSeconds(
  context: Rereading,
  jobs: readonly Dataset[],
  unfit: readonly Quarantined[],
): Promise<void> {
  for (const { dataset, stream, records } of byStream(jobs, unfit))
    await readSecondsAgain(context, dataset, stream, records);
}

/** Only covered seconds are reread: the others are read later anyway, with their records. */
async function readSecondsAgain(
  context: Rereading,
  dataset: Dataset,
  stream: Stream,
  records: readonly Quarantined[],
): Promise<void> {
  const { database } = context.crawl;
  const covered = common(union(records.map(({ span }) => span)), await readCoverage(database, stream));
  const holes = covered.flatMap((span) =>
    splitAtArchive(span, context.chain.last.utime).filter((part) => part !== undefined),
  );
  const began = await databaseTime(database);
  await fillHoles(context, dataset, { stream, holes, surplus: [], unsealed: [], owner: context.owner });
  const read = common(holes, await readCoverage(database, stream));
  const everywhere = records.filter(({ span }) => without(common([span], covered), read).length === 0);
  const ids = everywhere.map(({ id }) => id);
  await forgetUnseen(database, ids, read, began);
}

function byStream(
  jobs: readonly Dataset[],
  records: readonly Quarantined[],
): { dataset: Dataset; stream: Stream; records: Quarantined[] }[] {
  const groups = new Map<string, { dataset: Dataset; stream: Stream; records: Quarantined[] }>();
  for (const record of records) {
    const dataset = jobs.find(({ name }) => name === record.dataset);
    if (dataset === undefined) continue;
    const key = `${record.dataset}/${record.scope}`;
    const stream = { dataset: record.dataset, scope: record.scope, pass: 0 };
    const group = groups.get(key) ?? { dataset, stream, records: [] };
    group.records.push(record);
    groups.set(key, group);
  }
  return [...groups.values()];
}
