import type { CrawlContext } from '../crawl/crawl-context.ts';
import { fillHoles } from '../crawl/streams/fill-holes.ts';
import { splitAtArchive, type Planner } from '../crawl/streams/planner.ts';
import type { ChainInfo } from '../crawl/chain-info.ts';
import type { Dataset } from '../dataset/dataset.ts';
import { readCoverage, type Stream } from '../ledger/stored-coverage.ts';
import { forgetUnseen, type Quarantined } from '../read/quarantined.ts';
import { common, union, without } from '../range.ts';
import type { Stop } from '../stop.ts';
import { databaseTime } from '../postgres/server-clock.ts';

export interface Rereading {
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
