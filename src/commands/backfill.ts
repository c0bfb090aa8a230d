import { createCappedBudget } from '../budget/capped-budget.ts';
import { openCrawl, type Crawl } from '../app.ts';
import { systemClock } from '../clock.ts';
import {
  backfill as crawlRange,
  missingOf,
  reachOf,
  type BackfillOptions,
  type Reach,
} from '../crawl/streams/backfill.ts';
import { piggybackedCollections } from '../crawl/collections/collections.ts';
import { loadDatasets, loadJobs } from '../dataset/load-jobs.ts';
import { chooseDatasets, needsRange, splitKinds, type Collection, type Dataset } from '../dataset/dataset.ts';
import { settleEstimates, type Settled } from '../db/read/estimates.ts';
import { EXIT, IncompleteError, UsageError, type ExitCode } from '../errors.ts';
import { formatRange, formatTime, parseDuration, parseRange, type Range } from '../range.ts';
import { createBlockSource } from '../verify/closure/block-source.ts';
import { deriveTransactions } from '../verify/derive.ts';
import { readBehind } from './backfill-collections.ts';
import { tell, type Invocation } from './command.ts';
import { formatNumber } from './output/format-number.ts';
import { openProgress, progressStyle } from './output/open-progress.ts';
import type { ProgressDisplay } from './output/progress.ts';
import { missingLine, printSummary } from './output/summary.ts';
import { withSource, type Opened } from './with-source.ts';

interface BackfillFlags {
  readonly from?: string;
  readonly to?: string;
  readonly only?: readonly string[];
  readonly maxRequests?: number;
  readonly deadline?: string;
  readonly again?: boolean;
  readonly dryRun?: boolean;
  readonly record?: string;
  readonly quiet?: boolean;
}

/** Leases read at once: enough to keep the budget busy while pages are on their way, few enough for two cores. */
const WORKERS = 4;

/**
 * `backfill --from … --to …`: covers a range of time once, and says what is missing if it cannot. Collections are read
 * behind the streams, which name what is looked up in them.
 */
export async function backfill(invocation: Invocation, flags: BackfillFlags): Promise<ExitCode> {
  const { config, now } = invocation;
  const deadlineMs = flags.deadline === undefined ? undefined : parseDuration(flags.deadline) * 1000;
  const all = await loadDatasets();
  const { streams, collections } = splitKinds(chooseDatasets(flags.only ?? config.datasets, all));
  const wanted = rangeOf(flags, [...streams, ...collections.filter(needsRange)], now);
  const carried = piggybackedCollections(splitKinds(all).collections);
  return withSource(invocation, { demo: 'still', deadlineMs }, (opened) =>
    runOn({ ...opened, invocation, datasets: streams, collections, carried, wanted }, flags),
  );
}

interface Errand extends Opened {
  readonly invocation: Invocation;
  readonly datasets: readonly Dataset[];
  readonly collections: readonly Collection[];
  /** Collections whose records come with the answers of others. */
  readonly carried: readonly Collection[];
  /** Undefined where only collections are read that are of no time. */
  readonly wanted: Range | undefined;
}

/** @throws UsageError where a range is needed and none, or half of one, was given */
function rangeOf(
  { from, to }: BackfillFlags,
  needing: readonly { readonly name: string }[],
  now: number,
): Range | undefined {
  if (from !== undefined && to !== undefined) return parseRange(from, to, now);
  if (from === undefined && to === undefined && needing.length === 0) return undefined;
  const names = needing.map(({ name }) => name).join(', ');
  throw new UsageError(`--from and --to are needed together${names === '' ? '' : `: for ${names}`}`, {
    hint: 'Write times like 2026-11-01, -6h or now. Lists and look-ups alone need none.',
  });
}

async function runOn(errand: Errand, flags: BackfillFlags): Promise<ExitCode> {
  const { invocation, stop } = errand;
  const { config } = invocation;
  const crawl = await openCrawl({
    ...invocation,
    ...errand,
    record: flags.record,
    budget: (plan) => (flags.maxRequests === undefined ? plan : createCappedBudget(plan, flags.maxRequests)),
  });
  try {
    const { wanted } = errand;
    if (wanted === undefined) {
      const timeless = { ...errand, crawl, range: undefined };
      return flags.dryRun === true ? EXIT.done : await readBehind(timeless, EXIT.done);
    }
    const reach = await reachOf(crawl, wanted, config.watermarkDelay, stop.finishing);
    const run = { ...errand, wanted, crawl, reach, again: flags.again ?? false };
    await announce(run);
    if (flags.dryRun === true) return EXIT.done;
    if (reach.range === undefined) return EXIT.incomplete;
    const style = progressStyle(flags.quiet);
    const allowed = flags.maxRequests;
    const progress = await openProgress({
      ...run,
      style,
      allowed,
      range: reach.range,
      rps: config.rps,
      workers: WORKERS,
    });
    const exit = run.datasets.length === 0 ? EXIT.done : await carryOut(run, reach.range, progress);
    return await readBehind({ ...run, range: reach.range }, exit);
  } finally {
    await crawl.close();
  }
}

interface Run extends Errand {
  readonly wanted: Range;
  readonly crawl: Crawl;
  readonly reach: Reach;
  /** True: a second reading of what has matured. */
  readonly again: boolean;
}

async function announce({ store, crawl, datasets, reach, wanted, baseUrl }: Run): Promise<void> {
  const note = noteOn(reach, wanted, crawl);
  await printSummary({
    database: store.database,
    globalId: crawl.chain.globalId,
    baseUrl,
    datasets,
    wanted: reach.range ?? wanted,
    ...(note !== undefined && { note }),
  });
}

function noteOn({ range }: Reach, wanted: Range, { chain }: Crawl): string | undefined {
  if (range === undefined) {
    return `nothing of it can be read now: the source begins at ${formatTime(chain.first.utime)} and ends at ${formatTime(chain.last.utime)}`;
  }
  const parts = [];
  if (range.from > wanted.from) parts.push(`the source begins at ${formatTime(range.from)}`);
  if (range.to < wanted.to) parts.push(`newer than ${formatTime(range.to)} is not yet safe to read`);
  return parts.length === 0 ? undefined : `cut: ${parts.join('; ')}`;
}

async function carryOut(run: Run, range: Range, progress: ProgressDisplay): Promise<ExitCode> {
  const { crawl, datasets, reach, stop, again } = run;
  let missing: ReadonlyMap<string, readonly Range[]>;
  try {
    missing = await crawlRange({
      ...crawl,
      datasets,
      reach,
      workers: WORKERS,
      stop,
      again,
      attempts: run.invocation.config.attempts,
      derived: await derivationOf(run, progress),
    });
  } catch (error) {
    if (!(error instanceof IncompleteError)) throw error;
    tell(error);
    missing = await missingOf(crawl.context, datasets, range, reach.watermark);
  } finally {
    progress.end();
  }
  for (const [dataset, ranges] of missing) console.log(missingLine(dataset, ranges));
  const { requests } = crawl.context.api.stats;
  console.log(
    `${missing.size === 0 ? 'complete' : 'incomplete'}: ${formatRange(range)}, ${requests} requests`,
  );
  for (const line of outcomeLines(await settleEstimates(run.store.database, range))) console.log(line);
  return missing.size === 0 ? EXIT.done : EXIT.incomplete;
}

/** What `plan` expected, beside what came. */
function outcomeLines(settled: readonly Settled[]): string[] {
  return settled.map(({ dataset, rows, low, high, realRows, requests, realRequests }) => {
    const times = realRows === 0 ? '' : `, ${(rows / realRows).toFixed(2)} times what came`;
    return (
      `estimate  ${dataset}: ${formatNumber(rows)} rows (${formatNumber(low)} to ${formatNumber(high)}) expected` +
      `${times}: ${formatNumber(realRows)}; ${formatNumber(requests)} requests expected, ${formatNumber(realRequests)} made`
    );
  });
}

/** What trace pages have brought of transactions is not asked for again. */
async function derivationOf(
  { store, crawl, stop, datasets, reach }: Run,
  progress: ProgressDisplay,
): Promise<NonNullable<BackfillOptions['derived']>> {
  const context = {
    database: store.database,
    jobs: await loadJobs(),
    clock: systemClock,
    owner: crawl.owner,
    stop,
    source: createBlockSource(crawl.context.api, crawl.chain, stop.leaving),
  };
  const chosen = datasets.filter(({ name }) => name === 'transactions');
  return {
    dataset: 'transactions',
    derive: async (range) => {
      await deriveTransactions(context, range);
      const missing = await missingOf(crawl.context, chosen, range, reach.watermark);
      progress.replaceLeft('transactions', missing.get('transactions') ?? []);
    },
  };
}
