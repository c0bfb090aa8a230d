import { formatDuration, formatRange, formatTime, lengthOf } from '../../../range.ts';
import { SILENT_SECONDS, type PollLag, type RestingLag } from '../../../status/lag.ts';
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
}

/** Prints where every dataset stands; first of all, that nobody keeps it so. */
export function printStatus(report: Report, bounds: LagBounds): void {
  const { at: now } = report;
  for (const line of [...silenceLines(report), ...placeLines(report), ...lagLines(report, bounds)])
    console.log(line);
  if (report.datasets.length > 0) {
    console.log();
    const header = ['dataset', 'rows', 'covered from', 'to (UTC)', 'covered', 'holes', 'lag', 'quarantined'];
    console.log(
      fitTable(header, report.datasets.map(tableRow), ['covered from', 'covered', 'quarantined', 'lag']),
    );
  }
  const collections = collectionLines(report.collections, now);
  if (collections.length > 0) console.log(['', ...collections, ''].join('\n'));
  const details = report.datasets.flatMap((dataset) => detailLines(dataset, now));
  for (const line of [...tableLines(report.datasets), ...details]) console.log(line);
  for (const { dataset, owner, span, priority } of report.leases) {
    console.log(`reading   ${dataset}: ${span.map(formatRange).join()} (${priority}, ${owner})`);
  }
  for (const line of spendingLines(report.spending)) console.log(line);
}

function silenceLines({ silence, hasEnded }: Report): string[] {
  if (silence === null || (silence <= SILENT_SECONDS && !hasEnded)) return [];
  const duration = formatDuration(silence);
  return [
    `daemon    no daemon has written for ${duration}: start \`${programName} sync\`, or look at its log`,
  ];
}

function placeLines({ at, database, network, head, awaited, gaps, lake }: Report): string[] {
  return [
    `database  ${database}`,
    `network   ${network ?? 'none yet: nothing was crawled'}`,
    ...(head === null ? [] : [headLine(head)]),
    ...(awaited === null ? [] : [`head      not known yet: waiting for ${awaited}`]),
    ...gaps.map((gap) => gapLine(gap, at)),
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

function tableRow(report: DatasetReport): string[] {
  const [first, last] = [report.covered[0], report.covered.at(-1)];
  return [
    report.dataset,
    ownRows(report.rows),
    first === undefined ? '-' : formatTime(first.from),
    last === undefined ? '-' : formatTime(last.to),
    formatDuration(lengthOf(report.covered)),
    String(report.holes.length),
    report.lag === null ? '-' : formatDuration(report.lag),
    String(report.quarantined),
  ];
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
