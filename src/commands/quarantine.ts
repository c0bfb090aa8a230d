import { openCrawl, type Store } from '../app.ts';
import { fillHoles } from '../crawl/streams/fill-holes.ts';
import { loadDatasets, loadJobs } from '../dataset/load-jobs.ts';
import { splitAtArchive } from '../crawl/streams/planner.ts';
import { placeOf, retryRecord } from '../crawl/streams/retry-record.ts';
import { type Stop, stopOnSignals } from '../stop.ts';
import { chooseDatasets, type Dataset } from '../dataset/dataset.ts';
import { readCoverage, type Stream } from '../db/coverage/coverage.ts';
import { createPartitions } from '../db/write/partitions.ts';
import {
  countQuarantined,
  databaseTime,
  forgetUnseen,
  readQuarantined,
  readQuarantineKinds,
  type Chosen,
  type Quarantined,
} from '../db/read/quarantined.ts';
import { EXIT, UsageError, type ExitCode } from '../errors.ts';
import { common, formatRange, formatTime, union } from '../range.ts';
import { openSource } from '../source.ts';
import type { Invocation } from './command.ts';
import { formatTable } from './output/table.ts';
import { withStore } from './with-store.ts';

/** What Postgres shows of who is connected. */
const NAME = 'toncenter-etl quarantine';
/** Records that are read from the database at once. */
const PAGE = 200;
/** Records that `list` shows before the rest is only counted. */
const SHOWN = 50;

interface ListFlags {
  readonly only?: readonly string[];
  readonly json?: boolean;
}

/** `quarantine list`: why records did not fit, and which they are. */
export function quarantineList(invocation: Invocation, { only, json }: ListFlags): Promise<ExitCode> {
  return withStore(invocation, NAME, async (store) => {
    const chosen = await chosenBy([], only);
    if (json === true) {
      const all: object[] = [];
      for await (const record of everyRecord(store, chosen)) all.push(factsOf(record));
      console.log(JSON.stringify(all, null, 2));
      return EXIT.done;
    }
    const kinds = (await readQuarantineKinds(store.database)).filter(
      ({ dataset }) => chosen.datasets?.includes(dataset) ?? true,
    );
    if (kinds.length === 0) {
      console.log('nothing is in quarantine');
      return EXIT.done;
    }
    const total = kinds.reduce((sum, { records }) => sum + records, 0);
    const counted = kinds.map((kind) => [
      String(kind.records),
      kind.dataset,
      pathOf(kind),
      kind.reason,
      formatRange(kind),
    ]);
    console.log(formatTable(['records', 'dataset', 'member', 'reason', 'between (UTC)'], counted));
    console.log();
    const rows = await readQuarantined(store.database, chosen, { after: 0, limit: SHOWN });
    const header = ['id', 'dataset', 'block time (UTC)', 'received', 'member', 'record'];
    console.log(formatTable(header, rows.map(listRow)));
    if (total > rows.length)
      console.log(`and ${total - rows.length} more: toncenter-etl quarantine list --json`);
    return EXIT.done;
  });
}

/** Everything about a record but itself. */
function factsOf({ raw, ...facts }: Quarantined): object {
  return { ...facts, characters: raw.length };
}

function listRow(record: Quarantined): string[] {
  const { id, dataset, utime, attempts, recordId } = record;
  const times = `${attempts} ${attempts === 1 ? 'time' : 'times'}`;
  return [String(id), dataset, formatTime(utime), times, pathOf(record), recordId];
}

function pathOf({ path }: { readonly path: string }): string {
  return path === '' ? '(whole record)' : path;
}

/** `quarantine show ID`: one record, whole. */
export function quarantineShow(invocation: Invocation, id: number): Promise<ExitCode> {
  return withStore(invocation, NAME, async ({ database }) => {
    const [record] = await readQuarantined(database, { ids: [id] }, { after: 0, limit: 1 });
    if (record === undefined) {
      throw new UsageError(`there is no record ${id} in quarantine`, {
        hint: '`toncenter-etl quarantine list` shows which there are.',
      });
    }
    const facts: readonly (readonly [string, string])[] = [
      ['record', `${record.id}: ${record.recordId}`],
      ['dataset', record.scope === '' ? record.dataset : `${record.dataset} of ${record.scope}`],
      ['block time', formatTime(record.utime)],
      ['member', pathOf(record)],
      ['reason', record.reason],
      ['request', `GET ${record.request}`],
      ['received', `${record.attempts} times, ${formatTime(record.firstAt)} to ${formatTime(record.lastAt)}`],
    ];
    for (const [title, text] of facts) console.log(`${title.padEnd(12)}${text}`);
    console.log(`\n${record.raw}`);
    return EXIT.done;
  });
}

/** `quarantine export`: a JSON line a record, the record itself without a digit lost. */
export function quarantineExport(invocation: Invocation, { only }: ListFlags): Promise<ExitCode> {
  return withStore(invocation, NAME, async (store) => {
    const chosen = await chosenBy([], only);
    for await (const record of everyRecord(store, chosen)) {
      // The record is JSON text already; parsed and printed anew it would lose digits.
      console.log(`${JSON.stringify(factsOf(record)).slice(0, -1)},"record":${record.raw}}`);
    }
    return EXIT.done;
  });
}

interface RetryFlags {
  readonly only?: readonly string[];
  readonly again?: boolean;
}

/**
 * `quarantine retry [ID…]`: reads the stored records with this version's schemas; with `--again` asks the API anew for
 * the seconds of those that still do not fit. Exit 0 where nothing of what was chosen is left.
 */
export function quarantineRetry(
  invocation: Invocation,
  ids: readonly number[],
  { only, again }: RetryFlags,
): Promise<ExitCode> {
  return withStore(invocation, NAME, async (store) => {
    const chosen = await chosenBy(ids, only);
    const jobs = await loadJobs();
    const { released, unfit } = await retryStored(invocation, store, jobs, chosen);
    console.log(`released  ${released} ${released === 1 ? 'record' : 'records'}: written from what was kept`);
    if (unfit.length === 0) return EXIT.done;
    for (const record of unfit.slice(0, SHOWN)) {
      console.log(`unfit     ${record.id} of ${record.dataset}: ${pathOf(record)}: ${record.reason}`);
    }
    if (again === true) await askAgain(invocation, store, jobs, unfit);
    const left = await countQuarantined(store.database, { ids: unfit.map(({ id }) => id) });
    if (again === true)
      console.log(`read anew ${unfit.length - left} of ${unfit.length} are out of quarantine`);
    if (left === 0) return EXIT.done;
    console.error(
      again === true
        ? 'hint: The source stands by them: `toncenter-etl quarantine export` writes them out for a bug report.'
        : 'hint: `toncenter-etl quarantine retry --again` asks the API for those seconds anew.',
    );
    return EXIT.incomplete;
  });
}

async function retryStored(
  { config }: Invocation,
  store: Store,
  jobs: readonly Dataset[],
  chosen: Chosen,
): Promise<{ released: number; unfit: Quarantined[] }> {
  const partitions = createPartitions(store.database, config.partition);
  const unfit: Quarantined[] = [];
  let released = 0;
  for await (const record of everyRecord(store, chosen)) {
    const dataset = jobs.find(({ name }) => name === record.dataset);
    const misfit =
      dataset === undefined
        ? { path: '', reason: 'is of no stream: its list or look-up asks for it again' }
        : await retryRecord(store.database, partitions, dataset, record);
    if (misfit === undefined) released += 1;
    else unfit.push({ ...record, path: misfit.path, reason: misfit.reason });
  }
  return { released, unfit };
}

async function askAgain(
  { config, logger }: Invocation,
  store: Store,
  jobs: readonly Dataset[],
  unfit: readonly Quarantined[],
): Promise<void> {
  const stop = stopOnSignals(logger);
  const source = await openSource(config, store, 'still');
  try {
    const crawl = await openCrawl({
      config,
      logger,
      store,
      stop,
      baseUrl: source.baseUrl,
    });
    try {
      for (const { dataset, stream, records } of byStream(jobs, unfit))
        await readSecondsAgain({ ...crawl, crawl: crawl.context, stop }, dataset, stream, records);
    } finally {
      await crawl.close();
    }
  } finally {
    await source.close();
    stop.dispose();
  }
}

interface Rereading {
  readonly crawl: Awaited<ReturnType<typeof openCrawl>>['context'];
  readonly planner: Awaited<ReturnType<typeof openCrawl>>['planner'];
  readonly chain: Awaited<ReturnType<typeof openCrawl>>['chain'];
  readonly owner: string;
  readonly stop: Stop;
}

/** A record of a second that is not covered comes again with that second, whoever reads it. */
async function readSecondsAgain(
  context: Rereading,
  dataset: Dataset,
  stream: Stream,
  records: readonly Quarantined[],
): Promise<void> {
  const { database } = context.crawl;
  const seconds = union(records.map(({ utime }) => ({ from: utime, to: utime + 1 })));
  const holes = common(seconds, await readCoverage(database, stream)).flatMap((span) =>
    splitAtArchive(span, context.chain.last.utime).filter((part) => part !== undefined),
  );
  const began = await databaseTime(database);
  await fillHoles(context, dataset, { stream, holes, surplus: [], receipts: [], owner: context.owner });
  // A record whose own time cannot be read may lie in another second than its neighbour's, which was read again.
  const placed = records.filter((record) => placeOf(dataset, record) === record.utime).map(({ id }) => id);
  await forgetUnseen(database, placed, common(holes, await readCoverage(database, stream)), began);
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

async function* everyRecord({ database }: Store, chosen: Chosen): AsyncGenerator<Quarantined> {
  for (let after = 0; ;) {
    const page = await readQuarantined(database, chosen, { after, limit: PAGE });
    yield* page;
    const last = page.at(-1);
    if (last === undefined) return;
    after = last.id;
  }
}

async function chosenBy(ids: readonly number[], only: readonly string[] | undefined): Promise<Chosen> {
  const datasets =
    only === undefined ? undefined : chooseDatasets(only, await loadDatasets()).map(({ name }) => name);
  return { ids: ids.length === 0 ? undefined : ids, datasets };
}
