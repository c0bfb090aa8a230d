import { formatDuration, formatRange, formatTime, lengthOf } from '../../../range.ts';
import { SIMULATED } from '../../../db/connection/network.ts';
import { SILENT_SECONDS } from '../../../db/coordination/worker-name.ts';
import { STILL_HEAD_SECONDS, type PollLag, type RestingLag } from '../../../status/lag.ts';
import type { DatasetReport, Report } from '../../../status/report.ts';
import { errorLines, gapLine, ownRows, refusedLine } from '../summary.ts';
import { fitTable } from '../table.ts';
import { collectionLines } from './collection-report.ts';
import { spendingLines } from './spending.ts';
import { programName } from '../../../terminal/program-name.ts';

/** How many ranges of one kind are printed for a dataset before the rest is only counted. */
const SHOWN = 5;

/** What bounds the lag of what a daemon follows. */
interface LagBounds {
  readonly pollLag: PollLag;
  readonly restingLags: readonly RestingLag[];
  /** Where `demo` keeps rows of its own, if it has run here. */
  readonly demoDir?: string | undefined;
}

/** Prints where every dataset stands; first of all, that nobody keeps it so. */
export function printStatus(report: Report, bounds: LagBounds): void {
  const { at: now } = report;
  for (const line of [...silenceLines(report), ...placeLines(report, bounds), ...lagLines(report, bounds)])
    console.log(line);
  if (report.datasets.length > 0) {
    console.log();
    const header = ['dataset', 'rows', 'covered from', 'to (UTC)', 'covered', 'holes', 'lag', 'quarantined'];
    console.log(
      fitTable(
        header,
        report.datasets.map((dataset) => tableRow(dataset, standsAt(report))),
        ['covered from', 'covered', 'quarantined', 'lag'],
      ),
    );
  }
  const collections = collectionLines(report.collections, now);
  if (collections.length > 0) console.log(['', ...collections, ''].join('\n'));
  const details = report.datasets.flatMap((dataset) => detailLines(dataset, now));
  for (const line of [...tableLines(report.datasets), ...details]) console.log(line);
  for (const line of report.datasets.flatMap(({ dataset }) => readingLines(dataset, report)))
    console.log(line);
  for (const line of spendingLines(report.spending, now)) console.log(line);
}

function silenceLines({ silence, hasEnded }: Report): string[] {
  if (silence === null || (silence <= SILENT_SECONDS && !hasEnded)) return [];
  const duration = formatDuration(silence);
  return [
    `daemon    no daemon has written for ${duration}: start \`${programName} sync\`, or look at its log`,
  ];
}

/** When the chain's newest block is of, if the chain stands still; undefined if it follows the clock, as far as is known. */
function standsAt({ head, silence, hasEnded, globalId, datasets }: Report): number | undefined {
  const isFollowed = silence !== null && silence <= SILENT_SECONDS && !hasEnded;
  if (head !== null && isFollowed) return head.age > STILL_HEAD_SECONDS ? head.time : undefined;
  // A simulated network that no daemon follows has a last block.
  const ends = datasets.flatMap(({ covered }) => covered.at(-1)?.to ?? []);
  return globalId === SIMULATED && silence === null && ends.length > 0 ? Math.max(...ends) : undefined;
}

function placeLines(report: Report, { demoDir }: LagBounds): string[] {
  const { at, database, network, head, awaited, gaps, lake } = report;
  const stands = standsAt(report);
  return [
    `database  ${database}`,
    `network   ${network ?? 'none yet: nothing was crawled'}`,
    ...(network === null && demoDir !== undefined
      ? [`          demo keeps its rows elsewhere: ETL_DATA_DIR=${demoDir} ${programName} status`]
      : []),
    ...(head === null ? [] : [headLine(head)]),
    ...(awaited === null ? [] : [`head      not known yet: waiting for ${awaited}`]),
    ...gaps.map((gap) => gapLine(gap, at)),
    ...(stands === undefined
      ? []
      : [
          `head      the chain stands still: its newest block is of ${formatTime(stands)}; lags are counted to there`,
        ]),
    ...(lake === null ? [] : [lakeLine(lake)]),
  ];
}

function headLine({ seqno, age, watermark, waitingFor }: NonNullable<Report['head']>): string {
  const waiting = waitingFor === null ? '' : `, waiting for ${waitingFor}`;
  return `head      masterchain block ${seqno}, ${formatDuration(age)} ago; safe to read until ${formatTime(watermark)}${waiting}`;
}

const NO_MORE = ' (TONCENTER_RPS allows no more)';

/** What bounds the lag: what the chain takes, then a line for the datasets with the delay of all, and one for each delay of their own. */
function lagLines({ silence, head }: Report, { pollLag, restingLags }: LagBounds): string[] {
  // Without a daemon nothing follows the head.
  if (silence === null) return [];
  const lines = new Map<string, string[]>();
  for (const { dataset, delay, isOwn, round, isBoundByRate } of restingLags) {
    const by = `${formatDuration(delay)} ${isOwn ? 'of its own' : 'by ETL_WATERMARK_DELAY'}`;
    const wait = `at most ${formatDuration(Math.ceil(round))} until the next round${isBoundByRate ? NO_MORE : ''}`;
    const line = `lag       then ${by}, ${wait}, and its requests`;
    lines.set(line, [...(lines.get(line) ?? []), dataset]);
  }
  return [
    chainLagLine(head, pollLag),
    ...[...lines].map(([line, datasets]) => `${line}: ${datasets.join(', ')}`),
  ];
}

function chainLagLine(head: Report['head'], { seconds, isBoundByRate }: PollLag): string {
  const naming = head?.naming ?? null;
  const took =
    naming === null
      ? ''
      : ` (lately ${formatDuration(naming.usual)}, at most ${formatDuration(naming.most)})`;
  const poll = `at most ${formatDuration(Math.ceil(seconds))} until a poll${isBoundByRate ? NO_MORE : ''}`;
  return `lag       at rest until the masterchain has named all blocks of a second${took}, ${poll}`;
}

function lakeLine({ place, age, isWhole, error }: NonNullable<Report['lake']>): string {
  const since = formatDuration(age);
  const state = isWhole ? `has what was covered ${since} ago` : `has not all yet, after ${since}`;
  return `lake      ${place} ${state}${error === null ? '' : `; the last round failed: ${error}`}`;
}

function tableRow(report: DatasetReport, stands: number | undefined): string[] {
  const [first, last] = [report.covered[0], report.covered.at(-1)];
  return [
    report.dataset,
    ownRows(report.rows),
    first === undefined ? '-' : formatTime(first.from),
    last === undefined ? '-' : formatTime(last.to),
    formatDuration(lengthOf(report.covered)),
    String(report.holes.length),
    lagText(report, stands),
    String(report.quarantined),
  ];
}

function lagText({ lag, covered }: DatasetReport, stands: number | undefined): string {
  const end = covered.at(-1)?.to;
  if (lag === null || end === undefined) return '-';
  return formatDuration(stands === undefined ? lag : Math.max(0, stands - end));
}

/** The tables beside those that are named like a dataset; one that several datasets fill, once. */
function tableLines(reports: readonly DatasetReport[]): string[] {
  const named = new Set(reports.map(({ dataset }) => dataset));
  const lines: string[] = [];
  for (const { dataset, rows } of reports) {
    for (const { table, rows: count, exact } of rows) {
      if (count === 0 || named.has(table)) continue;
      named.add(table);
      lines.push(`table     ${dataset}: ${table} has ${exact ? '' : 'about '}${count} rows`);
    }
  }
  return lines;
}

/** The ranges that are being read of a dataset, the first few. */
function readingLines(name: string, { leases }: Report): string[] {
  const own = leases.filter(({ dataset }) => dataset === name);
  const more = own.slice(SHOWN).flatMap(({ span }) => span);
  return [
    ...own
      .slice(0, SHOWN)
      .map(
        ({ owner, span, priority }) =>
          `reading   ${name}: ${span.map(formatRange).join()} (${priority}, ${owner})`,
      ),
    ...(more.length === 0
      ? []
      : [`reading   ${name}: and ${own.length - SHOWN} more ranges, ${formatDuration(lengthOf(more))}`]),
  ];
}

function detailLines(report: DatasetReport, now: number): string[] {
  const { dataset, holes, refused, drift, quarantined } = report;
  const more = holes.length > SHOWN ? [`hole      ${dataset}: and ${holes.length - SHOWN} more`] : [];
  return [
    ...holes.slice(0, SHOWN).map((hole) => `hole      ${dataset}: ${formatRange(hole)}`),
    ...more,
    ...refused.map((one) => refusedLine(one, now)),
    ...(quarantined > 0
      ? [
          `unfit     ${dataset}: ${quarantined} in quarantine: ${programName} quarantine list --only ${dataset}`,
        ]
      : []),
    ...drift.slice(0, SHOWN).map(driftLine),
    ...(drift.length > SHOWN ? [`drift     ${dataset}: and ${drift.length - SHOWN} more members`] : []),
    ...errorLines(report, now),
  ];
}

function driftLine({ dataset, path, type, times }: DatasetReport['drift'][number]): string {
  return `drift     ${dataset}: ${path} (${type}) is new: ${times} records have it, kept in their column extra`;
}
