import { randomUUID } from 'node:crypto';
import { open, rm } from 'node:fs/promises';
import type { Command } from 'commander';
import { chooseDatasets, splitKinds, type AnyJob, type Dataset } from '../dataset/dataset.ts';
import { loadDatasets } from '../dataset/load-jobs.ts';
import { createPartitions, periodOf, type Partitions } from '../write/target.ts';
import { EXIT, type ExitCode, LakeError, present } from '../errors.ts';
import { withExistingLake } from '../lake/open-lake.ts';
import { formatRange, parseRange, common, lengthOf, union, without, type Range } from '../range.ts';
import { datasetList, examples } from './option-words.ts';
import { type Invocation, runCommand, withStop, withStore } from './run-command.ts';
import { claimNetwork } from '../ledger/stored-settings.ts';
import type { Database } from '../postgres/database.ts';
import { commandLine } from '../terminal/program-name.ts';
import { nameOfProcess } from '../ledger/workers.ts';
import { coveredBy } from '../read/grade-of.ts';
import { commitImport, type Import, fillPartitions, columnsToImport } from '../write/commit-import.ts';
import { tablesOf, type ExportedTable } from '../export/write-rows.ts';
import type { Stop } from '../stop.ts';
import { daysOf, type Part } from '../lake/part.ts';
import { readLog, type TableLog } from '../lake/delta-log.ts';
import { type Lake, digestOf, missing, withFiles } from '../lake/lake.ts';

export function defineImport(command: Command): void {
  command
    .requiredOption('--lake <location>', 'lake that `export` wrote')
    .requiredOption('--from <time>', 'first second of the range, UTC')
    .requiredOption('--to <time>', 'end of the range, exclusive')
    .option('--only <datasets>', 'these datasets instead of ETL_DATASETS, separated by commas', datasetList)
    .addHelpText(
      'after',
      examples(
        'toncenter-etl import --lake ./lake --from 2026-11-01 --to 2026-12-01',
        'toncenter-etl verify --from 2026-11-01 --to 2026-12-01',
      ),
    )
    .action((flags: ImportFlags) => runCommand((invocation) => importRows(invocation, flags)));
}

interface ImportFlags {
  readonly from: string;
  readonly to: string;
  readonly lake: string;
  readonly only?: readonly string[];
}

/**
 * `import --lake LAKE --from … --to …`: imports what the database does not cover. Exits with 3 if the lake lacks a
 * part.
 */
export async function importRows(invocation: Invocation, flags: ImportFlags): Promise<ExitCode> {
  const { config, logger, now } = invocation;
  const range = parseRange(flags.from, flags.to, now);
  const available = await loadDatasets();
  // Without --only, everything in the lake is imported, and missing parts of the chosen datasets are reported.
  const chosen = chooseDatasets(flags.only ?? config.datasets, available);
  const expected = new Set(chosen.map(({ name }) => name));
  const datasets = flags.only === undefined ? available : chosen;
  return withStop(logger, (stop) =>
    withExistingLake({ location: flags.lake, signal: stop.leaving }, (lake) =>
      withStore(
        { ...invocation, migrates: true, signal: stop.finishing },
        'toncenter-etl import',
        async ({ database }) => {
          console.error(`imports ${formatRange(range)} from ${flags.lake} to ${database.label}`);
          const partitions = createPartitions(database, config.partition);
          const onCommit = (span: typeof range, rows: number) =>
            console.log(`${formatRange(span)}: ${rows} rows`);
          const shared = { lake, database, partitions, datasets, expected, available, range, stop, onCommit };
          const imported = await importLake(shared);
          for (const { dataset, lacking } of imported)
            for (const span of lacking) console.log(`not in the lake: ${dataset} ${formatRange(span)}`);
          console.error(`the imported rows are not verified yet: run \`${commandLine('verify')}\``);
          const isWhole = imported.every(({ lacking }) => lacking.length === 0);
          return isWhole && !stop.finishing.aborted ? EXIT.done : EXIT.incomplete;
        },
      ),
    ),
  );
}

/** Rows that one transaction imports into existing partitions. */
const ROWS_AT_ONCE = 100_000;

interface ImportOptions {
  readonly lake: Lake;
  readonly database: Database;
  readonly partitions: Partitions;
  readonly datasets: readonly Dataset<AnyJob>[];
  /** Names of datasets that the lake should have. If it lacks any others, that is not an error. */
  readonly expected: ReadonlySet<string>;
  readonly available: readonly Dataset<AnyJob>[];
  readonly range: Range;
  readonly stop: Stop;
  /** Called for each commit, with the number of new rows. */
  readonly onCommit: (span: Range, rows: number) => void;
}

/** What is imported of a dataset, and what the lake lacks. */
interface Imported {
  readonly dataset: string;
  readonly spans: readonly Range[];
  readonly lacking: readonly Range[];
}

/**
 * Imports the part of a range that the database does not cover: rows and coverage, oldest first. None of it is
 * verified, whatever the lake's grades are. If it is stopped early, it keeps what it has imported.
 */
export async function importLake(options: ImportOptions): Promise<Imported[]> {
  const { lake, database, stop } = options;
  // Coverage of these datasets is kept by pool or account, which parts do not distinguish.
  const datasets = splitKinds(options.datasets).streams.filter(({ job }) => job.scopes === undefined);
  const tables = tablesOf(datasets, options.available).filter(({ facts }) => facts.partitioned);
  const logs = new Map<string, TableLog>();
  for (const { facts } of tables) logs.set(facts.name, await readLog(lake, facts.name));
  for (const { network } of logs.values()) if (network !== undefined) await claimNetwork(database, network);
  const imported: Imported[] = [];
  for (const { name } of datasets) {
    const own = tables.flatMap(({ facts, dataset }) =>
      dataset === name ? (logs.get(facts.name) ?? []) : [],
    );
    const wanted = await wantedOf(options, name, own);
    if (options.expected.has(name) || wanted.spans.length > 0) imported.push(wanted);
  }
  const log = { request: `import ${lake.store.label}`, worker: nameOfProcess() };
  const wanted = { lake, imported, sources: sourcesOf(tables, logs), log };
  for (const period of periodsOf(union(...imported.map(({ spans }) => spans)), options.partitions)) {
    if (stop.finishing.aborted) break;
    await importPeriod(options, wanted, period);
  }
  return imported;
}

function periodsOf(ranges: readonly Range[], { size }: Partitions): Range[] {
  const periods = new Map<number, Range>();
  for (const { from, to } of ranges)
    for (let at = from; at < to;) {
      const period = periodOf(at, size);
      periods.set(period.from, period);
      at = period.to;
    }
  return [...periods.values()];
}

async function wantedOf(
  { database, range }: ImportOptions,
  name: string,
  own: readonly TableLog[],
): Promise<Imported> {
  const spansIn = ({ parts }: TableLog) =>
    parts.filter(({ grades }) => (grades[name] ?? 'incomplete') !== 'incomplete').map(({ span }) => span);
  const there = own.map(spansIn).reduce((all, spans) => common(all, spans), [range]);
  const lacks = without([range], await coveredBy(database, name, range));
  return { dataset: name, spans: common(lacks, there), lacking: without(lacks, there) };
}

/** Fills all partitions of a period at once if none exists yet; otherwise imports its rows in small commits. */
async function importPeriod(options: ImportOptions, wanted: WantedImport, period: Range): Promise<void> {
  const { lake, database, stop, onCommit } = options;
  const days = daysOf(common(union(...wanted.imported.map(({ spans }) => spans)), [period]));
  const each = days.map((day) => importOf(wanted, day, (parts, work) => withParts(lake, parts, work)));
  const covered: Range[] = [];
  function* imports(): Generator<Import, void> {
    for (const [at, one] of each.entries()) {
      if (stop.finishing.aborted) return;
      yield one;
      covered.push(...(days[at] ?? []));
    }
  }
  const tables = new Set(each.flatMap(({ rows }) => rows.map(({ table }) => table)));
  const rows = await fillPartitions(database, { tables: [...tables], period, imports: imports() });
  if (rows === undefined) for (const day of days) await importDay(options, wanted, day);
  else for (const span of union(covered)) onCommit(span, rows);
}

async function importDay(options: ImportOptions, wanted: WantedImport, day: readonly Range[]): Promise<void> {
  const { lake, database, partitions, stop, onCommit } = options;
  const sources = wanted.sources.map((source) => ({
    ...source,
    parts: source.parts.filter(({ span, rows }) => rows > 0 && common([span], day).length > 0),
  }));
  const all = sources.flatMap(({ parts }) => parts);
  await withParts(lake, all, async (paths) => {
    const pathOf = new Map(all.map((part, at) => [part, paths[at]]));
    for (const piece of cut(day, sources)) {
      if (stop.finishing.aborted) return;
      const imported = importOf({ ...wanted, sources }, [piece], (parts, work) =>
        work(parts.map((part) => present(pathOf.get(part), part.path))),
      );
      onCommit(piece, await commitImport(database, partitions, imported));
    }
  });
}

/** Cuts the ranges of a day into pieces with as many rows as one transaction may import. */
function cut(day: readonly Range[], sources: readonly ImportedTable[]): Range[] {
  const perSecond = sources.reduce((sum, { parts }) => {
    const seconds = lengthOf(parts.map(({ span }) => span));
    return sum + parts.reduce((rows, part) => rows + part.rows, 0) / Math.max(1, seconds);
  }, 0);
  const length = Math.max(1, Math.floor(ROWS_AT_ONCE / Math.max(perSecond, 0.01)));
  return day.flatMap(({ from, to }) =>
    Array.from({ length: Math.ceil((to - from) / length) }, (_, at) => ({
      from: from + at * length,
      to: Math.min(to, from + (at + 1) * length),
    })),
  );
}

/** Bytes of a file that are sent at once. */
const PIECE = 262_144;

interface NamedPart extends Part {
  readonly name: string;
}

interface ImportedTable extends ExportedTable {
  readonly parts: readonly NamedPart[];
}

/** The rows and coverage to import, and their source. */
interface WantedImport {
  readonly lake: Lake;
  readonly imported: readonly { readonly dataset: string; readonly spans: readonly Range[] }[];
  readonly sources: readonly ImportedTable[];
  readonly log: Import['log'];
}

function sourcesOf(tables: readonly ExportedTable[], logs: ReadonlyMap<string, TableLog>): ImportedTable[] {
  return tables.map((table) => {
    const { parts = [] } = logs.get(table.facts.name) ?? {};
    return { ...table, parts: parts.map((part) => ({ ...part, name: `${table.facts.name}/${part.path}` })) };
  });
}

type WithPaths = (
  parts: readonly NamedPart[],
  work: (paths: readonly string[]) => Promise<void>,
) => Promise<void>;

/** The import of some seconds. The rows of a table are read while the database takes those of the previous table. */
function importOf(wanted: WantedImport, ranges: readonly Range[], withPaths: WithPaths): Import {
  const { lake, imported, sources, log } = wanted;
  const covered = imported.flatMap(({ dataset, spans }) =>
    common(spans, ranges).map((span) => ({ dataset, span, rows: rowsIn(sources, dataset, span) })),
  );
  const there = sources.flatMap((source) => {
    const seconds = union(
      covered.filter(({ dataset }) => source.dataset === dataset).map(({ span }) => span),
    );
    const parts = source.parts.filter((part) => part.rows > 0 && common([part.span], seconds).length > 0);
    return parts.length === 0 ? [] : [{ source, seconds, parts }];
  });
  const files = prefetched(
    there.map(({ source: { table }, seconds, parts }) => async () => {
      const rows = lake.engine.scratch(randomUUID());
      const columns = columnsToImport(table);
      await withPaths(parts, (paths) => lake.engine.fromParquet(paths, { columns, seconds }, rows));
      return rows;
    }),
  );
  const rows = there.map(({ source: { table } }, at) => ({ table, pieces: () => piecesOf(() => files(at)) }));
  return { rows, covered, log };
}

/** Starts to make the next file of a list as soon as one is ready. */
function prefetched(makes: readonly (() => Promise<string>)[]): (at: number) => Promise<string> {
  const begun: Promise<string>[] = [];
  const begin = (at: number) => {
    const make = makes[at];
    return make && (begun[at] ??= make());
  };
  return async (at) => {
    const path = await begin(at);
    if (path === undefined) throw new RangeError(`there is no file ${at} to import`);
    // The error is thrown to the caller that asks for this file.
    begin(at + 1)?.catch(() => undefined);
    return path;
  };
}

/** Estimated number of rows in a dataset's own table, from its parts. */
function rowsIn(sources: readonly ImportedTable[], dataset: string, span: Range): number {
  const own = sources.find((source) => source.dataset === dataset);
  const shares = (own?.parts ?? []).map(
    (part) => (part.rows * lengthOf(common([part.span], [span]))) / lengthOf([part.span]),
  );
  return Math.round(shares.reduce((sum, share) => sum + share, 0));
}

async function* piecesOf(make: () => Promise<string>): AsyncGenerator<Buffer, void> {
  const path = await make();
  const file = await open(path);
  try {
    for (;;) {
      const piece = Buffer.allocUnsafe(PIECE);
      const { bytesRead } = await file.read(piece);
      if (bytesRead === 0) return;
      yield piece.subarray(0, bytesRead);
    }
  } finally {
    await file.close();
    await rm(path);
  }
}

/**
 * Runs `work` with local files of parts, which exist until it ends.
 * @throws LakeError if a file is not the one that its commit named
 */
async function withParts(
  lake: Lake,
  parts: readonly NamedPart[],
  work: (paths: readonly string[]) => Promise<void>,
): Promise<void> {
  const names = parts.map(({ name }) => name);
  await withFiles(lake, names, async (fetched) => {
    const paths: string[] = [];
    for (const [at, part] of parts.entries()) paths.push(await intact(part, fetched[at]));
    await work(paths);
  });
}

async function intact({ name, sha256 }: NamedPart, path: string | undefined): Promise<string> {
  if (path === undefined) return missing(name);
  if ((await digestOf(path)) === sha256) return path;
  throw new LakeError(`${name} has been altered: its SHA-256 differs from the one in its commit`, {
    hint: '`toncenter-etl verify --lake` lists everything that is wrong. Get a new copy of the lake.',
  });
}
