import { recheckGaps, searchGaps } from '../crawl/gaps.ts';
import { lacksEndpoint } from '../crawl/failure-policy.ts';
import { readUnfit, type Unfit } from '../read/quarantined.ts';
import { backfill, type CrawlOptions } from '../crawl/streams/read-leases.ts';
import { missingOf, delayedOf, streamOf } from '../crawl/streams/planner.ts';
import type { HeldBack } from '../crawl/streams/readable-part.ts';
import type { ChainInfo } from '../crawl/chain-info.ts';
import { alsoHeldAmong, type Dataset } from '../dataset/dataset.ts';
import { readCoverage } from '../ledger/stored-coverage.ts';
import { isGap } from '../ledger/stored-gaps.ts';
import { readAllRefused, type RefusedSpan } from '../ledger/refused.ts';
import { closeEstimates, type EstimateOutcome } from '../read/row-estimates.ts';
import { EtlError, IncompleteError, WrongDatabaseError } from '../errors.ts';
import { common, union, without, type Range } from '../range.ts';
import { outlastDatabase } from '../retry.ts';
import { createBlockSource } from '../verify/checks/block-source.ts';
import { deriveTransactions } from '../verify/derive.ts';

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

export interface Covered {
  /** Ranges that are still missing, by dataset. */
  readonly missing: ReadonlyMap<string, readonly Range[]>;
  /** Endpoints that the server does not have, by dataset. */
  readonly absent: ReadonlyMap<string, string>;
  /** Ranges that the API refused, with the reason and the time of the next attempt. */
  readonly refused: readonly RefusedSpan[];
  /** Ranges that cannot be read yet, by dataset: their endpoint lags behind the chain. */
  readonly delayed: ReadonlyMap<string, Range>;
  /** Why it ended early, such as a cap on requests. */
  readonly stoppedBy: IncompleteError | undefined;
  /** Records of the range that are in quarantine. */
  readonly unfit: readonly Unfit[];
  /** The estimates of `plan` for this range, and the outcome. */
  readonly outcomes: readonly EstimateOutcome[];
}

/**
 * Covers a range once. Transactions that trace pages contain are derived without requests. If not all
 * replicas may have the end of the range yet, it is read after the delay, and the rest meanwhile.
 */
export async function coverStreams(options: CoverOptions): Promise<Covered> {
  const { context, datasets, range } = options;
  let { watermark } = options;
  let missing: Covered['missing'];
  let stoppedBy: IncompleteError | undefined;
  try {
    await lookForGaps(options, watermark);
    if (options.held !== undefined) watermark = await coverBefore(options, options.held);
    missing = await backfill({
      ...options,
      readable: { range, watermark },
      ...derivationOf(options, watermark),
    });
  } catch (error) {
    if (!(error instanceof IncompleteError)) throw error;
    stoppedBy = error;
    missing = await outlastDatabase({ ...context, signal: options.stop.leaving }, () =>
      missingOf(context, datasets, range, watermark),
    );
  }
  const absent = await absentOf(options, missing);
  missing = new Map([...missing].filter(([dataset]) => !absent.has(dataset)));
  const delayed = delayedOf(datasets, range, watermark);
  const waiting = { ...context, signal: options.stop.leaving };
  const { refused, settled, unfit } = await outlastDatabase(waiting, async () => ({
    refused: (await readAllRefused(context.database)).filter(
      (one) => (missing.has(one.dataset) || isGap(one)) && common(one.span, [range]).length > 0,
    ),
    settled: await closeEstimates(context.database, range, [...missing.keys()]),
    unfit: await readUnfit(context.database, datasets, range),
  }));
  return { missing, absent, refused, delayed, stoppedBy, outcomes: settled, unfit };
}

/** The endpoints that the server lacks, of datasets that were not chosen by name and were never read. */
async function absentOf(
  { context, datasets, named, stop }: CoverOptions,
  missing: Covered['missing'],
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
    await backfill({
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
