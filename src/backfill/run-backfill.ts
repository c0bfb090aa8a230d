import { readUnfit, type Unfit } from '../read/quarantined.ts';
import { type RunContext, noTurns } from '../crawl/collections/walk-context.ts';
import { type CrawlContext, alsoOnPage } from '../crawl/crawl-context.ts';
import { type Planner, missingOf, delayedOf, streamOf, streamsOf } from '../crawl/streams/planner.ts';
import { fillRange, type CrawlOptions } from '../crawl/streams/read-leases.ts';
import {
  findReadablePart,
  type ReadablePart,
  type ReadableResult,
  type HeldBack,
} from '../crawl/streams/readable-part.ts';
import { requireHead } from '../crawl/watermark/watermark.ts';
import { type ChainInfo, lacksEndpoint } from '../crawl/source-chain.ts';
import { type Collection, type Dataset, alsoHeldAmong } from '../dataset/dataset.ts';
import { endPauses, readCoverage, readAllRefused, readMissing, isGap } from '../ledger/stored-coverage.ts';
import { delayOf } from '../crawl/tail-pace.ts';
import { IncompleteError, EtlError, WrongDatabaseError } from '../errors.ts';
import { type Range, common, union, without } from '../range.ts';
import { outlastDatabase, outlast } from '../clock.ts';
import type { Stop } from '../stop.ts';
import { readCollections } from '../crawl/collections/read-collections.ts';
import { recheckGaps, searchGaps } from '../crawl/gaps.ts';
import { closeEstimates } from '../read/row-estimates.ts';
import { createBlockSource } from '../verify/checks/block-source.ts';
import { deriveTransactions } from '../verify/derive.ts';

interface BackfillRun {
  readonly context: CrawlContext;
  readonly planner: Planner;
  readonly chain: ChainInfo;
  /** Name of this process in leases. */
  readonly owner: string;
  readonly stop: Stop;
  /** Every known stream, chosen or not. */
  readonly jobs: readonly Dataset[];
  readonly datasets: readonly Dataset[];
  readonly collections: readonly Collection[];
  /** Collections whose records come with the responses of other collections. */
  readonly piggybacked: readonly Collection[];
  /** Datasets that were chosen by name. */
  readonly named?: ReadonlySet<string>;
  /** Undefined if only collections without a time are read. */
  readonly wanted: Range | undefined;
  /** How far one replica may lag behind another. */
  readonly delaySeconds: number;
  readonly choices: RunContext['choices'];
  readonly attempts: number;
  /** If true, ranges that have matured since their first reading are read a second time. */
  readonly again: boolean;
  /** If true, it only reports what would be read. */
  readonly dryRun: boolean;
}

/** Receives the progress of a backfill. */
export interface BackfillReport {
  /** Called before anything is read. */
  onReadable(readable: ReadablePart): Promise<void>;
  /** Called before streams are read. The returned object receives their progress. */
  onStreams(range: Range, watermark: number): Promise<StreamsReport>;
  onCovered(covered: Covered, range: Range, isWhole: boolean): void;
  onCollections(read: CollectionsRead & { readonly unfit: readonly Unfit[] }): void;
}

export interface StreamsReport {
  /** Replaces the missing ranges of a dataset after ranges of it were derived. */
  readonly replaceLeft: (dataset: string, missing: readonly Range[]) => void;
  readonly end: () => void;
}

/** Covers a range of streams, then reads collections. True if everything requested was read. */
export async function runBackfill(run: BackfillRun, report: BackfillReport): Promise<boolean> {
  const { wanted, stop, dryRun } = run;
  if (wanted === undefined) return dryRun || (await readBehind(run, report, undefined));
  const readable = await findReadablePart({ ...run, wanted, isEstimate: dryRun, signal: stop.finishing });
  await outlastDatabase(waitingOf(run), () => report.onReadable(readable));
  if (dryRun) return true;
  const { range } = readable;
  if (range === undefined) return false;
  const isCovered = run.datasets.length === 0 || (await cover(run, report, { ...readable, range }));
  const isRead = await readBehind(run, report, range);
  return isCovered && isRead;
}

function waitingOf({ context, attempts, stop }: BackfillRun) {
  return { ...context, attempts, signal: stop.finishing };
}

async function cover(
  run: BackfillRun,
  report: BackfillReport,
  { range, watermark, held, heldByGap }: ReadableResult & { readonly range: Range },
): Promise<boolean> {
  const { context, chain, delaySeconds, stop } = run;
  const sinceMs = context.clock.monotonic();
  const names = run.datasets.map(({ name }) => name);
  const progress = await outlastDatabase(waitingOf(run), async () => {
    // If a person starts a run, the cause of earlier failures is assumed to be fixed, so pauses end.
    await endPauses(run.context.database, names, range);
    return report.onStreams(range, watermark);
  });
  try {
    const onDerived = progress.replaceLeft;
    const covered = await coverStreams({ ...run, range, watermark, held, onDerived });
    progress.end();
    const isRead =
      covered.missing.size === 0 &&
      covered.unnamed.size === 0 &&
      covered.stoppedBy === undefined &&
      heldByGap === undefined &&
      !lacksOldEnd(run, range, covered.delayed);
    const isWhole = isRead && !covered.unfit.some(({ isMuch }) => isMuch);
    if (!stop.finishing.aborted && covered.stoppedBy === undefined)
      await requireHead(context, {
        seen: chain.last.utime,
        delaySeconds,
        sinceMs,
        signal: stop.finishing,
      }).catch((error: unknown) => {
        // After a cap or a stop there is no request left for it.
        if (!stop.finishing.aborted && !(error instanceof IncompleteError)) throw error;
      });
    report.onCovered(covered, range, isWhole);
    return isWhole;
  } catch (error) {
    progress.end();
    throw error;
  }
}

/**
 * The age in seconds that an end may have beyond its dataset's delay: if no process polled a chain, it is
 * read this far behind its head.
 */
const OLD_SECONDS = 300;

/**
 * True if the part that is not safe to read yet is older than it should be. A younger end is not a hole, because
 * the source may still lack it.
 */
function lacksOldEnd(
  { datasets, wanted, delaySeconds, chain }: BackfillRun,
  range: Range,
  delayed: Covered['delayed'],
): boolean {
  const to = wanted?.to ?? range.to;
  const isOld = (dataset: Dataset) => to <= chain.last.utime - delayOf(dataset, delaySeconds) - OLD_SECONDS;
  const isCut = (dataset: Dataset) => range.to < to || delayed.has(dataset.name);
  return datasets.some((dataset) => isCut(dataset) && isOld(dataset));
}

/** Reads the collections after the streams. If the run was stopped before, they are incomplete. */
async function readBehind(
  run: BackfillRun,
  report: BackfillReport,
  range: Range | undefined,
): Promise<boolean> {
  const { collections, chain } = run;
  if (collections.length === 0) return true;
  const read = await readCollectionsOnce({ ...run, range, firstSeqno: chain.first.seqno }, collections);
  const unfit = await outlastDatabase(waitingOf(run), () => readUnfit(run.context.database, collections));
  const isWhole = read.isWhole && !unfit.some(({ isMuch }) => isMuch);
  report.onCollections({ ...read, isWhole, unfit });
  return isWhole;
}

export interface CollectionsRead {
  /** Names of the collections that the API refused. */
  readonly refused: readonly string[];
  /** Endpoints that the server does not have, by dataset. */
  readonly absent: ReadonlyMap<string, string>;
  /** Why it ended early, such as a cap on requests. */
  readonly stoppedBy: IncompleteError | undefined;
  /** True if every collection was read to its end. */
  readonly isWhole: boolean;
}

/** Reads each collection once, as fast as the budget of a backfill allows. */
async function readCollectionsOnce(
  options: Omit<RunContext, 'began' | 'priority' | 'turns' | 'range'> & {
    readonly range: Range | undefined;
    readonly named?: ReadonlySet<string>;
  },
  collections: readonly Collection[],
): Promise<CollectionsRead> {
  const { context, stop, range } = options;
  const run: Omit<RunContext, 'began'> = {
    ...options,
    range: () => range,
    priority: 'backfill',
    turns: noTurns,
  };
  try {
    const waiting = { ...context, signal: stop.finishing };
    const absent = new Map<string, string>();
    const failed = await outlast(waiting, 'the collections', (onAnswer) =>
      readCollections({ ...run, context: alsoOnPage(context, onAnswer) }, collections, absent),
    );
    for (const name of options.named ?? []) absent.delete(name);
    const refused = (failed ?? []).filter((name) => !absent.has(name));
    const isWhole = failed !== undefined && refused.length === 0 && !stop.finishing.aborted;
    return { refused, absent, stoppedBy: undefined, isWhole };
  } catch (error) {
    if (!(error instanceof IncompleteError)) throw error;
    return { refused: [], absent: new Map(), stoppedBy: error, isWhole: false };
  }
}

interface CoverOptions extends Omit<CrawlOptions, 'derived' | 'readable'> {
  readonly chain: ChainInfo;
  /** Name of this process in leases. */
  readonly owner: string;
  /** Every known stream, chosen or not. */
  readonly jobs: readonly Dataset[];
  readonly range: Range;
  /** Datasets that were chosen by name: if the server lacks one of them, the run is incomplete. */
  readonly named?: ReadonlySet<string>;
  readonly watermark: number;
  /** Set if the end of the range is not safe to read yet: it is read last. */
  readonly held: HeldBack | undefined;
  /** Called with the missing ranges of a dataset after ranges of it were derived. */
  readonly onDerived: (dataset: string, missing: readonly Range[]) => void;
}

export type Covered = Awaited<ReturnType<typeof coverStreams>>;

/** Ranges that are still missing, by dataset. */
type MissingByDataset = ReadonlyMap<string, readonly Range[]>;

/**
 * Covers a range once. Transactions that trace pages contain are derived without requests. If not all
 * replicas may have the end of the range yet, it is read after the delay, and the rest meanwhile.
 */
export async function coverStreams(options: CoverOptions) {
  const { context, datasets, range } = options;
  const waiting = { ...context, signal: options.stop.leaving };
  let { watermark } = options;
  let missing: MissingByDataset;
  let stoppedBy: IncompleteError | undefined;
  try {
    await lookForGaps(options, watermark);
    if (options.held !== undefined) watermark = await coverBefore(options, options.held);
    missing = await fillRange({
      ...options,
      readable: { range, watermark },
      ...derivationOf(options, watermark),
    });
  } catch (error) {
    if (!(error instanceof IncompleteError)) throw error;
    stoppedBy = error;
    missing = await outlastDatabase(waiting, () => missingOf(context, datasets, range, watermark));
  }
  const absent = await absentOf(options, missing);
  missing = new Map([...missing].filter(([dataset]) => !absent.has(dataset)));
  const delayed = delayedOf(datasets, range, watermark);
  const stored = await outlastDatabase(waiting, async () => ({
    /** Datasets that are read pool by pool, if no pool is known, with the dataset that would name pools. */
    unnamed: await unnamedOf(options),
    /** Ranges that the API refused, with the reason and the time of the next attempt. */
    refused: (await readAllRefused(context.database)).filter(
      (one) => (missing.has(one.dataset) || isGap(one)) && common(one.span, [range]).length > 0,
    ),
    /** The estimates of `plan` for this range, and the outcome. */
    outcomes: await closeEstimates(context.database, range, [...missing.keys()]),
    /** Records of the range that are in quarantine. */
    unfit: await readUnfit(context.database, datasets, range),
  }));
  // `delayed`: ranges that cannot be read yet, by dataset, because their endpoint lags behind the chain. `stoppedBy`: why
  // it ended early, such as a cap on requests.
  return { missing, absent, delayed, stoppedBy, ...stored };
}

/** The endpoints that the server lacks, of datasets that were not chosen by name and were never read. */
async function absentOf(
  { context, datasets, named, stop }: CoverOptions,
  missing: MissingByDataset,
): Promise<Map<string, string>> {
  const absent = new Map<string, string>();
  for (const dataset of datasets) {
    const { path } = dataset.job;
    if (!missing.has(dataset.name) || named?.has(dataset.name) === true || stop.finishing.aborted) continue;
    if ((await readCoverage(context.database, streamOf(dataset))).length > 0) continue;
    if (await lacksEndpoint(context.api, path, stop.leaving)) absent.set(dataset.name, path);
  }
  return absent;
}

/** The datasets of which no pool is known, although pools of the range may exist: their source has not been read. */
async function unnamedOf({ context, datasets, jobs, range }: CoverOptions): Promise<Map<string, string>> {
  const unnamed = new Map<string, string>();
  for (const dataset of datasets) {
    const source = jobs.find(({ name }) => name === dataset.job.scopes?.seenIn.dataset);
    if (source === undefined || (await streamsOf(context.database, dataset)).length > 0) continue;
    const unread = await readMissing(context.database, streamOf(source), [range]);
    if (unread.length > 0) unnamed.set(dataset.name, source.name);
  }
  return unnamed;
}

/** Rechecks the known gaps. If no blocks are crawled that would show gaps, it also looks for new ones. */
async function lookForGaps(
  { context, datasets, jobs, range, stop }: CoverOptions,
  watermark: number,
): Promise<void> {
  const signal = stop.leaving;
  try {
    await recheckGaps(context, range, { dueOnly: false, signal });
    const blocks = jobs.find(({ name }) => name === 'blocks');
    if (blocks === undefined || datasets.includes(blocks)) return;
    const missing = await missingOf(context, datasets, range, watermark);
    const known = await readCoverage(context.database, streamOf(blocks));
    await searchGaps(context, without(union(...missing.values()), known), signal);
  } catch (error) {
    if (stop.finishing.aborted) return;
    const isOfOthers = error instanceof EtlError && !(error instanceof IncompleteError);
    if (!isOfOthers || error instanceof WrongDatabaseError) throw error;
    // The next request of the crawl reports what is wrong with the source.
    context.logger.warn(
      { code: error.code, reason: error.message },
      'could not search for gaps in the source',
    );
  }
}

/** Reads what lies before the held-back end, then waits for it. Resolves to the watermark of that time. */
async function coverBefore(options: CoverOptions, { before, waitUntilSafe }: HeldBack): Promise<number> {
  const { watermark, stop } = options;
  if (before !== undefined)
    await fillRange({
      ...options,
      readable: { range: before, watermark },
      ...derivationOf(options, watermark),
    });
  return stop.finishing.aborted ? watermark : waitUntilSafe();
}

/** Covers ranges without requests, if the pages of another dataset contain their rows. */
function derivationOf(options: CoverOptions, watermark: number): Pick<CrawlOptions, 'derived'> {
  const { context, chain, owner, jobs, datasets, stop, onDerived } = options;
  const { api, clock, database } = context;
  const [alsoHeld] = alsoHeldAmong(jobs);
  if (alsoHeld === undefined) return {};
  const { name } = alsoHeld.dataset;
  const source = createBlockSource(api, chain, stop.leaving);
  const chosen = datasets.filter((dataset) => dataset.name === name);
  const derive = async (range: Range) => {
    await deriveTransactions({ database, jobs, clock, owner, stop, source }, range);
    const missing = await missingOf(context, chosen, range, watermark);
    onDerived(name, missing.get(name) ?? []);
  };
  return { derived: { dataset: name, derive } };
}
