import type { Command } from 'commander';
import { openCrawl } from '../app/open-crawl.ts';
import { chooseDatasets, type Dataset } from '../dataset/dataset.ts';
import { loadDatasets, loadJobs } from '../dataset/load-jobs.ts';
import { type Database, databaseTime } from '../postgres/database.ts';
import {
  type Chosen,
  countQuarantined,
  type Quarantined,
  type QuarantineKind,
  readQuarantined,
  readQuarantineKinds,
  forgetUnseen,
} from '../read/quarantined.ts';
import { EXIT, type ExitCode, UsageError } from '../errors.ts';
import { formatRange, formatTime, common, union, without } from '../range.ts';
import { commandLine } from '../terminal/program-name.ts';
import { datasetList, examples, refuseWords, wholeNumber, wholeNumbers } from './option-words.ts';
import { closeAfter, type Invocation, runCommand, withHost, withStore } from './run-command.ts';
import { formatTable } from './table.ts';
import { retryRecord } from '../crawl/streams/page.ts';
import { createPartitions, type PartitionSize } from '../write/target.ts';
import type { CrawlContext } from '../crawl/crawl-context.ts';
import { fillHoles } from '../crawl/streams/read-leases.ts';
import { zonesOf, type Planner } from '../crawl/streams/planner.ts';
import type { ChainInfo } from '../crawl/source-chain.ts';
import { readCoverage, type Stream } from '../ledger/stored-coverage.ts';
import type { Stop } from '../stop.ts';

export function defineQuarantine(command: Command): void {
  command.addHelpText(
    'after',
    examples(
      'toncenter-etl quarantine list',
      'toncenter-etl quarantine retry           # after an upgrade: no request',
      'toncenter-etl quarantine retry --again   # reads their seconds again',
    ),
  );

  refuseWords(command, command.command('list', { isDefault: true }))
    .description('show how many records did not fit, why, and which')
    .option('--only <datasets>', 'of these datasets, separated by commas', datasetList)
    .option('--json', 'for programs')
    .action((flags: QuarantineFlags) => runCommand((invocation) => quarantineList(invocation, flags)));

  command
    .command('show')
    .description('show one complete record, with the request that returned it')
    .argument('<id>', 'its number in the list', wholeNumber)
    .action((id: number) => runCommand((invocation) => quarantineShow(invocation, id)));

  command
    .command('retry')
    .description('parse them again with this version (exit 3 if some still do not fit)')
    .argument('[ids...]', 'their numbers in the list; default all', wholeNumbers)
    .option('--only <datasets>', 'of these datasets, separated by commas', datasetList)
    .option('--again', 'read the seconds of those that still do not fit from the API again')
    .action((ids: readonly number[], flags: QuarantineFlags) =>
      runCommand((invocation) => quarantineRetry(invocation, ids, flags)),
    );
}

interface QuarantineFlags {
  readonly only?: readonly string[];
  readonly json?: boolean;
  readonly again?: boolean;
}

/** The chosen records: without ids all, without --only of all datasets. */
async function parseChosen(ids: readonly number[], { only }: QuarantineFlags): Promise<Chosen> {
  const datasets =
    only === undefined ? undefined : chooseDatasets(only, await loadDatasets()).map(({ name }) => name);
  return { ids: ids.length === 0 ? undefined : ids, datasets };
}

/** Records that are shown before the rest is only counted. */
const SHOWN = 50;

/** `quarantine list`: which records did not fit, and why. */
function quarantineList(invocation: Invocation, flags: QuarantineFlags): Promise<ExitCode> {
  return withStore(invocation, 'toncenter-etl quarantine', async ({ database }) => {
    const chosen = await parseChosen([], flags);
    if (flags.json === true) {
      const all: object[] = [];
      for await (const record of everyRecord(database, chosen)) all.push(factsOf(record));
      console.log(JSON.stringify(all, null, 2));
      return EXIT.done;
    }
    const kinds = (await readQuarantineKinds(database)).filter(
      ({ dataset }) => chosen.datasets?.includes(dataset) ?? true,
    );
    printQuarantine(kinds, await readQuarantined(database, chosen, { after: 0, limit: SHOWN }));
    return EXIT.done;
  });
}

/** `quarantine show ID`: one complete record. */
function quarantineShow(invocation: Invocation, id: number): Promise<ExitCode> {
  return withStore(invocation, 'toncenter-etl quarantine', async ({ database }) => {
    const [record] = await readQuarantined(database, { ids: [id] }, { after: 0, limit: 1 });
    if (record === undefined) {
      throw new UsageError(`there is no record ${id} in quarantine`, {
        hint: `\`${commandLine('quarantine list')}\` shows which there are.`,
      });
    }
    printRecord(record);
    return EXIT.done;
  });
}

/**
 * `quarantine retry [ID…]`: parses the stored records with this version's schemas. With `--again` it reads the
 * seconds of those that still do not fit from the API. Exits with 0 if nothing that was chosen is left.
 */
export function quarantineRetry(
  invocation: Invocation,
  ids: readonly number[],
  flags: QuarantineFlags,
): Promise<ExitCode> {
  return withStore(invocation, 'toncenter-etl quarantine', async (store) => {
    const { database } = store;
    const chosen = await parseChosen(ids, flags);
    await requireRecords(database, ids);
    const jobs = await loadJobs();
    const { partition } = invocation.config;
    const { released, unfit } = await retryStored(database, partition, jobs, chosen);
    printRetried(released, unfit);
    if (unfit.length === 0) return EXIT.done;
    const { again = false } = flags;
    if (again)
      await withHost(invocation, store, async (opened) =>
        closeAfter(await openCrawl({ ...invocation, ...opened }), (crawl) =>
          rereadSeconds({ ...crawl, crawl: crawl.context, stop: opened.stop }, jobs, unfit),
        ),
      );
    const left = await countQuarantined(database, { ids: unfit.map(({ id }) => id) });
    printLeft(left, unfit.length, again);
    return left === 0 ? EXIT.done : EXIT.incomplete;
  });
}

/** @throws UsageError if there is no record with one of these ids */
async function requireRecords(database: Database, ids: readonly number[]): Promise<void> {
  for (const id of ids)
    if ((await countQuarantined(database, { ids: [id] })) === 0)
      throw new UsageError(`there is no record ${id} in quarantine`, {
        hint: '`quarantine list` shows all.',
      });
}

/** Prints why records did not fit, by kind, and the first records. */
function printQuarantine(kinds: readonly QuarantineKind[], first: readonly Quarantined[]): void {
  if (kinds.length === 0) {
    console.log('nothing is in quarantine');
    return;
  }
  const counted = kinds.map((kind) => [
    String(kind.records),
    kind.dataset,
    pathOf(kind),
    kind.reason,
    formatRange(kind),
  ]);
  console.log(formatTable(['records', 'dataset', 'member', 'reason', 'between (UTC)'], counted));
  console.log();
  const header = ['id', 'dataset', 'block time (UTC)', 'received', 'member', 'record'];
  console.log(formatTable(header, first.map(listRow)));
  const total = kinds.reduce((sum, { records }) => sum + records, 0);
  if (total > first.length)
    console.log(`and ${total - first.length} more: ${commandLine('quarantine list --json')}`);
}

function listRow(record: Quarantined): string[] {
  const { id, dataset, utime, attempts, recordId } = record;
  const times = `${attempts} ${attempts === 1 ? 'time' : 'times'}`;
  return [String(id), dataset, formatTime(utime), times, pathOf(record), recordId];
}

function printRecord(record: Quarantined): void {
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
}

/** Everything about a record except the record. */
function factsOf({ raw, ...facts }: Quarantined): object {
  return { ...facts, characters: raw.length };
}

/** Prints the result of parsing the stored records again. */
function printRetried(released: number, unfit: readonly Quarantined[]): void {
  console.log(`released  ${released} ${released === 1 ? 'record' : 'records'}: written from the stored text`);
  for (const record of unfit.slice(0, SHOWN))
    console.log(`unfit     ${record.id} of ${record.dataset}: ${pathOf(record)}: ${record.reason}`);
}

/** Prints how many unfit records are left, and what to do next. `again`: they were read from the API again. */
function printLeft(left: number, unfit: number, again: boolean): void {
  if (again) console.log(`read again ${unfit - left} of ${unfit} are out of quarantine`);
  if (left === 0) return;
  console.error(
    again
      ? `hint: The API still sends them in this form: \`${commandLine('sql --json "select * from etl.quarantine"')}\` writes them for a bug report.`
      : `hint: \`${commandLine('quarantine retry --again')}\` reads those seconds from the API again.`,
  );
}

function pathOf({ path }: { readonly path: string }): string {
  return path === '' ? '(whole record)' : path;
}

/** Parses stored records with this version's schemas. Returns the number released, and those that do not fit. */
async function retryStored(
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
async function* everyRecord(database: Database, chosen: Chosen): AsyncGenerator<Quarantined> {
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
async function rereadSeconds(
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
  const holes = covered.flatMap((span) => zonesOf(span, context.chain.last.utime));
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
