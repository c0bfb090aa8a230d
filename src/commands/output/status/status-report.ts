import { formatDuration, formatRange, formatTime, lengthOf } from '../../../range.ts';
import { SILENT_SECONDS } from '../../../status/lag.ts';
import type { DatasetReport, Report } from '../../../status/report.ts';
import { errorLines, ownRows, refusedLine } from '../summary.ts';
import { fitTable } from '../table.ts';
import { collectionLines } from './collection-report.ts';
import { spendingLines } from './spending.ts';
import { programName } from '../../../terminal/program-name.ts';

/** How many ranges of one kind are printed for a dataset before the rest is only counted. */
const SHOWN = 5;

/** Prints where every dataset stands; first of all, that nobody keeps it so. */
export function printStatus(report: Report): void {
  const { at: now } = report;
  for (const line of silenceLines(report)) console.log(line);
  console.log(`database  ${report.database}`);
  console.log(`network   ${report.network ?? 'none yet: nothing was crawled'}`);
  if (report.head !== null) console.log(headLine(report.head));
  if (report.lake !== null) console.log(lakeLine(report.lake));
  if (report.datasets.length > 0) {
    console.log();
    const header = ['dataset', 'rows', 'covered from', 'to (UTC)', 'covered', 'holes', 'lag', 'quarantined'];
    console.log(fitTable(header, report.datasets.map(tableRow), ['covered from', 'covered', 'quarantined']));
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

function headLine({ seqno, age, watermark, waitingFor }: NonNullable<Report['head']>): string {
  const waiting = waitingFor === null ? '' : `, waiting for ${waitingFor}`;
  return `head      masterchain block ${seqno}, ${formatDuration(age)} ago; safe to read until ${formatTime(watermark)}${waiting}`;
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

/** The tables beside those that are named like their dataset; one that several datasets fill, once. */
function tableLines(reports: readonly DatasetReport[]): string[] {
  const others = new Map(
    reports.flatMap(({ dataset, rows }) =>
      rows
        .slice(1)
        .filter(({ rows: count }) => count > 0)
        .map((row) => [row.table, { dataset, ...row }] as const),
    ),
  );
  return [...others.values()].map(
    ({ dataset, table, rows, exact }) =>
      `table     ${dataset}: ${table} has ${exact ? '' : 'about '}${rows} rows`,
  );
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
