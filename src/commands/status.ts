import { openStore } from '../app.ts';
import { loadJobs } from '../crawl/load-jobs.ts';
import type { Dataset } from '../dataset.ts';
import { countRows, type RowCount } from '../db/count-rows.ts';
import type { Database } from '../db/database.ts';
import { networkName, readNetwork } from '../db/network.ts';
import { holesIn, readStatus, type Status } from '../db/status.ts';
import { readSavedWatermark } from '../db/watermark.ts';
import { readSpending, type Spending } from '../db/workers.ts';
import { EXIT, type ExitCode } from '../errors.ts';
import { formatDuration, formatRange, formatTime, lengthOf, type Range } from '../range.ts';
import type { Invocation } from './command.ts';
import { spendingLines } from './spending.ts';
import { formatTable } from './table.ts';

/** How many ranges of one kind are printed for a dataset before the rest is only counted. */
const SHOWN = 5;

interface DatasetReport {
  readonly dataset: string;
  readonly covered: readonly Range[];
  readonly verified: readonly Range[];
  readonly holes: readonly Range[];
  readonly rows: readonly RowCount[];
  /** Seconds between the newest block seen and the end of what is covered; null where no daemon has run. */
  readonly lag: number | null;
  readonly quarantined: number;
  /** Members of the API that no column takes. */
  readonly drift: Status['drift'];
  readonly refused: Status['refused'];
  readonly lastError: Status['failures'][number] | null;
}

interface StatusReport {
  readonly database: string;
  readonly network: string | null;
  readonly head: {
    readonly seqno: number;
    readonly time: number;
    readonly watermark: number;
    readonly waitingFor: string | null;
  } | null;
  readonly datasets: readonly DatasetReport[];
  readonly leases: Status['leases'];
  readonly spending: Spending;
}

/** `status`: where every dataset stands, from the database alone. */
export async function status(
  { config, logger, now }: Invocation,
  flags: { json?: boolean },
): Promise<ExitCode> {
  const store = await openStore(config, logger, 'toncenter-etl status');
  try {
    const report = await readReport(store.database, await loadJobs());
    if (flags.json === true) console.log(JSON.stringify(report, null, 2));
    else printReport(report, now);
    return EXIT.done;
  } finally {
    await store.close();
  }
}

async function readReport(database: Database, datasets: readonly Dataset[]): Promise<StatusReport> {
  const status = await readStatus(database);
  const network = await readNetwork(database);
  const mark = await readSavedWatermark(database);
  const known = new Set(
    [...status.streams, ...status.refused, ...status.failures, ...status.drift]
      .map(({ dataset }) => dataset)
      .concat(...status.quarantined.keys()),
  );
  const reports = [];
  for (const dataset of datasets.filter(({ name }) => known.has(name))) {
    reports.push(await reportOn(database, dataset, status, mark?.headUtime));
  }
  return {
    database: database.label,
    network: network === undefined ? null : networkName(network),
    head:
      mark === undefined
        ? null
        : { seqno: mark.headSeqno, time: mark.headUtime, watermark: mark.utime, waitingFor: mark.waitingFor },
    datasets: reports,
    leases: status.leases,
    spending: await readSpending(database),
  };
}

async function reportOn(
  database: Database,
  dataset: Dataset,
  status: Status,
  head?: number,
): Promise<DatasetReport> {
  const { name, job } = dataset;
  const stream = status.streams.find((row) => row.dataset === name && row.pass === 0 && row.scope === '');
  const covered = stream?.covered ?? [];
  const end = covered.at(-1)?.to;
  const rows = [];
  for (const table of Object.values(job.tables)) rows.push(await countRows(database, table));
  return {
    dataset: name,
    covered,
    verified: stream?.verified ?? [],
    holes: holesIn(covered),
    rows,
    lag: head === undefined || end === undefined ? null : Math.max(0, head - end),
    quarantined: status.quarantined.get(name) ?? 0,
    drift: status.drift.filter((row) => row.dataset === name),
    refused: status.refused.filter((row) => row.dataset === name),
    lastError: status.failures.find((row) => row.dataset === name) ?? null,
  };
}

function printReport(report: StatusReport, now: number): void {
  console.log(`database  ${report.database}`);
  console.log(`network   ${report.network ?? 'none yet: nothing was crawled'}`);
  if (report.head !== null) console.log(headLine(report.head, now));
  if (report.datasets.length === 0) return;
  console.log();
  const header = ['dataset', 'rows', 'covered from', 'to (UTC)', 'covered', 'holes', 'lag', 'quarantined'];
  console.log(formatTable(header, report.datasets.map(tableRow)));
  for (const dataset of report.datasets) for (const line of detailLines(dataset, now)) console.log(line);
  for (const { dataset, owner, span, priority } of report.leases) {
    console.log(`reading   ${dataset}: ${span.map(formatRange).join()} (${priority}, ${owner})`);
  }
  for (const line of spendingLines(report.spending)) console.log(line);
}

function headLine(
  { seqno, time, watermark, waitingFor }: NonNullable<StatusReport['head']>,
  now: number,
): string {
  const waiting = waitingFor === null ? '' : `, waiting for ${waitingFor}`;
  return `head      masterchain block ${seqno}, ${formatDuration(now - time)} ago; safe to read until ${formatTime(watermark)}${waiting}`;
}

function tableRow(report: DatasetReport): string[] {
  const [first, last] = [report.covered[0], report.covered.at(-1)];
  const [own] = report.rows;
  return [
    report.dataset,
    own === undefined ? '0' : `${own.exact ? '' : '~'}${own.rows}`,
    first === undefined ? '-' : formatTime(first.from),
    last === undefined ? '-' : formatTime(last.to),
    formatDuration(lengthOf(report.covered)),
    String(report.holes.length),
    report.lag === null ? '-' : formatDuration(report.lag),
    String(report.quarantined),
  ];
}

function detailLines(report: DatasetReport, now: number): string[] {
  const { dataset, holes, rows, refused, drift, quarantined, lastError } = report;
  const more = holes.length > SHOWN ? [`hole      ${dataset}: and ${holes.length - SHOWN} more`] : [];
  return [
    ...rows
      .slice(1)
      .filter(({ rows: count }) => count > 0)
      .map(
        ({ table, rows: count, exact }) =>
          `table     ${dataset}: ${table} has ${exact ? '' : 'about '}${count} rows`,
      ),
    ...holes.slice(0, SHOWN).map((hole) => `hole      ${dataset}: ${formatRange(hole)}`),
    ...more,
    ...refused.map(
      ({ span, reason, detail, retryAt }) =>
        `refused   ${dataset}: ${span.map(formatRange).join()}: ${reason}, ${detail}; again ${retryAt > now ? `in ${formatDuration(retryAt - now)}` : 'now'}`,
    ),
    ...(quarantined > 0
      ? [
          `unfit     ${dataset}: ${quarantined} in quarantine: toncenter-etl quarantine list --only ${dataset}`,
        ]
      : []),
    ...drift.slice(0, SHOWN).map(driftLine),
    ...(drift.length > SHOWN ? [`drift     ${dataset}: and ${drift.length - SHOWN} more members`] : []),
    ...(lastError === null
      ? []
      : [
          `error     ${dataset}: ${lastError.message} (${lastError.code}, ${formatDuration(now - lastError.at)} ago)`,
        ]),
  ];
}

function driftLine({ dataset, path, type, times }: Status['drift'][number]): string {
  return `drift     ${dataset}: ${path} (${type}) is new: ${times} records have it, kept in their column extra`;
}
