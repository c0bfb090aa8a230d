import { type Crawl, openCrawl } from '../app/open-crawl.ts';
import {
  type Covered,
  type CollectionsRead,
  type BackfillReport,
  runBackfill,
} from '../backfill/run-backfill.ts';
import { createCappedBudget } from '../budget/request-budget.ts';
import { systemClock, outlast } from '../clock.ts';
import { holderOf } from '../crawl/plan/plan-datasets.ts';
import type { Collection, Dataset } from '../dataset/dataset.ts';
import { isGap } from '../ledger/stored-coverage.ts';
import type { EstimateOutcome } from '../read/row-estimates.ts';
import type { Unfit } from '../read/quarantined.ts';
import { EXIT, type ExitCode } from '../errors.ts';
import { formatRange, type Range } from '../range.ts';
import { commandLine } from '../terminal/program-name.ts';
import { type Invocation, type OpenedHost, reportError } from './run-command.ts';
import { absentLine, gapLine, missingLine, noteOnCut, printSummary, refusedLine } from './summary.ts';
import { formatNumber } from './table.ts';
import { openProgress, progressStyle, type ProgressStyle } from './progress-display.ts';

export interface BackfillFlags {
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

export interface BackfillWanted {
  /** Every known stream, chosen or not. */
  readonly jobs: readonly Dataset[];
  readonly datasets: readonly Dataset[];
  readonly collections: readonly Collection[];
  /** Collections whose records are part of other datasets' responses. */
  readonly piggybacked: readonly Collection[];
  /** Datasets that were named one by one, not as part of a group. */
  readonly named: ReadonlySet<string>;
  /** Undefined if only collections without time are read. */
  readonly wanted: Range | undefined;
  readonly deadlineMs: number | undefined;
}

/** Runs a backfill in an open database. */
export async function coverRange(
  { config, logger }: Pick<Invocation, 'config' | 'logger'>,
  flags: BackfillFlags,
  chosen: Omit<BackfillWanted, 'deadlineMs'>,
  opened: OpenedHost,
): Promise<ExitCode> {
  const { maxRequests: allowed, record, quiet, again = false, dryRun = false } = flags;
  const { attempts } = config;
  const waiting = { clock: systemClock, random: Math.random, attempts, logger };
  const crawl = await outlast({ ...waiting, signal: opened.stop.finishing }, 'the API', () =>
    openCrawl({
      config,
      logger,
      ...opened,
      record,
      budget: (shared) => (allowed === undefined ? shared : createCappedBudget(shared, allowed)),
    }),
  );
  opened.stop.finishing.throwIfAborted();
  if (crawl === undefined) return EXIT.incomplete;
  /** Output that `--quiet` prints only if the run is incomplete. */
  const held: string[] = [];
  let isWhole = false;
  try {
    const { watermarkDelaySeconds: delaySeconds, choices } = config;
    const shared = { ...chosen, baseUrl: opened.baseUrl };
    const report = createBackfillReport({
      ...shared,
      crawl,
      style: progressStyle(config, quiet),
      allowed,
      say: quiet === true ? (line) => void held.push(line) : console.log,
    });
    const settings = { delaySeconds, choices, attempts, again, dryRun };
    isWhole = await runBackfill({ ...crawl, ...shared, ...settings, stop: opened.stop }, report);
    return isWhole ? EXIT.done : EXIT.incomplete;
  } finally {
    if (!isWhole) for (const line of held) console.error(line);
    await crawl.close();
  }
}

interface BackfillReportOptions {
  readonly crawl: Crawl;
  readonly baseUrl: string;
  readonly datasets: readonly Dataset[];
  readonly collections: readonly Collection[];
  readonly wanted: Range | undefined;
  readonly style: ProgressStyle;
  /** The maximum number of requests, if there is one. */
  readonly allowed: number | undefined;
  /** Prints a line of the result. Default: stdout. */
  readonly say?: (line: string) => void;
}

/** Prints what a backfill will do, its progress, and its result. */
export function createBackfillReport(options: BackfillReportOptions): BackfillReport {
  const { crawl, baseUrl, datasets, collections, wanted, style, say = console.log } = options;
  const { context, chain } = crawl;
  return {
    async onReadable(readable) {
      const range = readable.range ?? wanted;
      if (range === undefined) return;
      const note = noteOnCut(readable, wanted ?? range, chain);
      if (style === 'quiet') {
        if (note !== undefined) say(note);
        return;
      }
      await printSummary({
        database: context.database,
        globalId: chain.globalId,
        baseUrl,
        datasets,
        wanted: range,
        note,
      });
    },
    onStreams: (range, watermark) => openProgress({ ...options, range, watermark }),
    onCovered: (covered, range, isWhole) => {
      const verdict = `${isWhole ? 'complete' : 'incomplete'}${isWhole && covered.delayed.size > 0 ? ' as far as it can be read' : ''}`;
      printCovered(say, covered, {
        verdict: `${verdict}: ${formatRange(range)}, ${context.api.stats.requests} requests`,
        now: context.clock.now() / 1000,
        datasets,
      });
    },
    onCollections: (read) => printCollectionsRead(say, read, collections, context.api.stats.requests),
  };
}

interface Verdict {
  readonly verdict: string;
  /** Unix seconds. */
  readonly now: number;
  readonly datasets: readonly Dataset[];
}

function printCovered(
  say: (line: string) => void,
  { missing, absent, unnamed, refused, delayed, stoppedBy, outcomes, unfit }: Covered,
  { verdict, now, datasets }: Verdict,
): void {
  if (stoppedBy !== undefined) reportError(stoppedBy);
  for (const [dataset, ranges] of missing) say(missingLine(dataset, ranges));
  for (const one of refused) say(isGap(one) ? gapLine(one, now) : refusedLine(one, now));
  for (const [dataset, path] of absent) say(absentLine(dataset, path));
  for (const [dataset, source] of unnamed)
    say(
      `missing   ${dataset}: no pool is known. Read ${source}, which names pools, or add one with \`watch add\``,
    );
  if (delayed.size > 0) say(cutLine(delayed));
  printVerdict(say, verdict, unfit);
  for (const each of outcomes) say(outcomeLine(each, holderOf(each.dataset, datasets)));
}

/** One line for all datasets whose newest seconds must wait. */
function cutLine(delayed: ReadonlyMap<string, Range>): string {
  const ranges = [...delayed.values()];
  const whole = {
    from: Math.min(...ranges.map(({ from }) => from)),
    to: Math.max(...ranges.map(({ to }) => to)),
  };
  const what =
    delayed.size === 1 ? 'is not safe to read yet: its' : 'or a part of it is not safe to read yet: their';
  return `cut       ${[...delayed.keys()].join(', ')}: ${formatRange(whole)} ${what} source may lag`;
}

/** Compares the plan's estimate with the real numbers. */
function outcomeLine(
  { dataset, rows, low, high, realRows, requests, realRequests }: EstimateOutcome,
  holder: string | undefined,
): string {
  const times = realRows === 0 ? '' : `, ${(rows / realRows).toFixed(2)} times what came`;
  const asked = `${formatNumber(requests)} requests expected, ${formatNumber(realRequests)} made`;
  if (holder !== undefined) return `estimate  ${dataset}: its rows come with ${holder}; ${asked}`;
  return (
    `estimate  ${dataset}: ${formatNumber(rows)} rows (${formatNumber(low)} to ${formatNumber(high)}) expected` +
    `${times}: ${formatNumber(realRows)}; ${asked}`
  );
}

function printCollectionsRead(
  say: (line: string) => void,
  { refused, absent, stoppedBy, isWhole, unfit }: CollectionsRead & { readonly unfit: readonly Unfit[] },
  collections: readonly Collection[],
  requests: number,
): void {
  if (stoppedBy !== undefined) reportError(stoppedBy);
  for (const name of refused) say(`missing   ${name}: the API refused it, or a part of it; status says why`);
  for (const [dataset, path] of absent) say(absentLine(dataset, path));
  // After a stop, any of them may be incomplete.
  const lacking = new Set([
    ...refused,
    ...unfit.filter(({ isMuch }) => isMuch).map(({ dataset }) => dataset),
  ]);
  const named = lacking.size > 0 ? [...lacking] : collections.map(({ name }) => name);
  const names = (isWhole ? named.filter((name) => !absent.has(name)) : named).join(', ');
  printVerdict(
    say,
    `${isWhole ? 'read' : 'incomplete'}: ${names === '' ? 'nothing' : names}, ${requests} requests in all`,
    unfit,
  );
}

/** The last line names what is in quarantine: a script or a person may read no other line. */
function printVerdict(say: (line: string) => void, verdict: string, unfit: readonly Unfit[]): void {
  for (const each of unfit) say(unfitLine(each));
  const named = unfit.map(({ dataset, records }) => `${formatNumber(records)} of ${dataset}`).join(', ');
  say(named === '' ? verdict : `${verdict}; in quarantine: ${named}`);
}

function unfitLine({ dataset, records, stored }: Unfit): string {
  const all = formatNumber(records + stored);
  return `unfit     ${dataset}: ${formatNumber(records)} of ${all} records do not fit the schema and are in quarantine: run \`${commandLine('quarantine list')}\``;
}
