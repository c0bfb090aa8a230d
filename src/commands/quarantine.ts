import { openCrawl, type Store } from '../app.ts';
import { loadDatasets, loadJobs } from '../dataset/load-jobs.ts';
import { stopOnSignals } from '../stop.ts';
import { chooseDatasets, type Dataset } from '../dataset/dataset.ts';
import { createPartitions } from '../db/write/partitions.ts';
import {
  countQuarantined,
  readQuarantined,
  readQuarantineKinds,
  type Chosen,
  type Quarantined,
} from '../db/read/quarantined.ts';
import { EXIT, UsageError, type ExitCode } from '../errors.ts';
import { formatRange, formatTime } from '../range.ts';
import { everyRecord } from '../quarantine/every-record.ts';
import { rereadSeconds } from '../quarantine/reread-seconds.ts';
import { retryStored } from '../quarantine/retry-stored.ts';
import { openSource } from '../source.ts';
import type { Invocation } from './command.ts';
import { formatTable } from './output/table.ts';
import { withStore } from './with-store.ts';

/** What Postgres shows of who is connected. */
const NAME = 'toncenter-etl quarantine';
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
      for await (const record of everyRecord(store.database, chosen)) all.push(factsOf(record));
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
    for await (const record of everyRecord(store.database, chosen)) {
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
    const partitions = createPartitions(store.database, invocation.config.partition);
    const { released, unfit } = await retryStored(store.database, partitions, jobs, chosen);
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
      await rereadSeconds({ ...crawl, crawl: crawl.context, stop }, jobs, unfit);
    } finally {
      await crawl.close();
    }
  } finally {
    await source.close();
    stop.dispose();
  }
}

async function chosenBy(ids: readonly number[], only: readonly string[] | undefined): Promise<Chosen> {
  const datasets =
    only === undefined ? undefined : chooseDatasets(only, await loadDatasets()).map(({ name }) => name);
  return { ids: ids.length === 0 ? undefined : ids, datasets };
}
