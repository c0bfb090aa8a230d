import type { Command } from 'commander';
import { chooseDatasets, splitKinds } from '../dataset/dataset.ts';
import { loadDatasets } from '../dataset/load-jobs.ts';
import { SIMULATED } from '../ledger/stored-settings.ts';
import { SILENT_SECONDS, type Spending } from '../ledger/workers.ts';
import type { LookupCounts } from '../ledger/subjects.ts';
import { EXIT, type ExitCode, UsageError } from '../errors.ts';
import { formatDuration, formatRange, formatTime, lengthOf, parseDuration, parseTime } from '../range.ts';
import type { CollectionReport, WalkReport } from '../status/collections.ts';
import {
  ageOf,
  type RestingLag,
  restingLagsOf,
  STILL_HEAD_SECONDS,
  type DatasetReport,
  readReport,
  type Report,
} from '../status/report.ts';
import { followedDatasets, readinessOf, sayReasons } from '../status/readiness.ts';
import { commandLine } from '../terminal/program-name.ts';
import { examples } from './option-words.ts';
import { type Invocation, runCommand, withStore } from './run-command.ts';
import { errorLines, gapLine, ownRows, refusedLine } from './summary.ts';
import { fitTable } from './table.ts';
import { type PollLag, pollLagOf } from '../crawl/tail-pace.ts';

export function defineStatus(command: Command): void {
  command
    .option('--json', 'for programs')
    .option('--check', 'exit 3 if a dataset of ETL_DATASETS lags or lacks something, for monitoring')
    .option('--max-lag <duration>', 'the lag that --check tolerates, also without a daemon; default 5m')
    .option('--from <time>', 'the start of what --check requires; default ETL_SINCE')
    .addHelpText(
      'after',
      examples(
        'toncenter-etl status',
        'toncenter-etl status --check --max-lag 5m',
        '# without a daemon, behind a nightly backfill:',
        'toncenter-etl status --check --from 2026-01-01 --max-lag 26h',
        "toncenter-etl status --json | jq '.datasets[].holes'",
      ),
    )
    .action((flags: StatusFlags) => runCommand((invocation) => status(invocation, flags)));
}

interface StatusFlags {
  readonly json?: boolean;
  readonly check?: boolean;
  readonly maxLag?: string;
  readonly from?: string;
}

/** `status`: the state of every dataset, from the database alone. */
async function status(invocation: Invocation, flags: StatusFlags): Promise<ExitCode> {
  const { config } = invocation;
  const maxLagSeconds = flags.maxLag === undefined ? undefined : parseDuration(flags.maxLag);
  const from = flags.from === undefined ? undefined : parseTime(flags.from, invocation.now);
  if ((maxLagSeconds !== undefined || from !== undefined) && flags.check !== true)
    throw new UsageError('--max-lag and --from need --check');
  return withStore(invocation, 'toncenter-etl status', async (store) => {
    const all = await loadDatasets();
    const report = await readReport(store.database, all, { rows: 'exact' });
    const chosen = splitKinds(chooseDatasets(config.datasets, all)).streams;
    const followed = followedDatasets(chosen, config.schedules);
    const restingLags = restingLagsOf(followed, config);
    const pollLag = pollLagOf(config);
    if (flags.json === true) console.log(JSON.stringify({ ...report, pollLag, restingLags }, null, 2));
    else printStatus(report, { pollLag, restingLags });
    if (flags.check !== true) return EXIT.done;
    const readiness = readinessOf(report, followed, { ...config, maxLagSeconds, from });
    for (const reason of sayReasons(readiness, report.at)) console.error(`check     ${reason}`);
    return readiness.ready ? EXIT.done : EXIT.incomplete;
  });
}

/** Ranges of one kind that are printed for a dataset before the rest is only counted. */
const SHOWN = 5;

/** The normal lag of what a daemon follows. */
interface LagBounds {
  readonly pollLag: PollLag;
  readonly restingLags: readonly RestingLag[];
}

/** Prints the state of every dataset. If no daemon runs, it says so first. */
export function printStatus(report: Report, bounds: LagBounds): void {
  const { at: now } = report;
  for (const line of [...silenceLines(report), ...placeLines(report), ...lagLines(report, bounds)])
    console.log(line);
  if (report.datasets.length > 0) {
    console.log();
    const header = ['dataset', 'rows', 'covered from', 'to (UTC)', 'covered', 'holes', 'lag', 'quarantined'];
    console.log(
      fitTable(
        header,
        report.datasets.map((dataset) => tableRow(dataset, stoppedAt(report))),
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
    `daemon    no heartbeat of a daemon for ${duration}: read its log, then start \`${commandLine('sync')}\``,
  ];
}

/** The time of the chain's newest block, if the chain has stopped; undefined if it follows the clock, as far as is known. */
function stoppedAt({ head, silence, hasEnded, globalId, datasets }: Report): number | undefined {
  const isFollowed = silence !== null && silence <= SILENT_SECONDS && !hasEnded;
  if (head !== null && isFollowed) return head.age > STILL_HEAD_SECONDS ? head.time : undefined;
  // If no daemon follows a simulated network, that network has a last block.
  const ends = datasets.flatMap(({ covered }) => covered.at(-1)?.to ?? []);
  return globalId === SIMULATED && silence === null && ends.length > 0 ? Math.max(...ends) : undefined;
}

function placeLines(report: Report): string[] {
  const { at, database, network, head, awaited, gaps, lake } = report;
  const stopped = stoppedAt(report);
  return [
    `database  ${database}`,
    `network   ${network ?? 'none yet: nothing was crawled'}`,
    ...(head === null ? [] : [headLine(head)]),
    ...(awaited === null ? [] : [`head      the watermark is not known yet: waiting for ${awaited}`]),
    ...gaps.map((gap) => gapLine(gap, at)),
    ...(stopped === undefined
      ? []
      : [
          `head      the chain has stopped: its newest block is of ${formatTime(stopped)}; lags are counted to that time`,
        ]),
    ...(lake === null ? [] : [lakeLine(lake)]),
  ];
}

function headLine({ seqno, age, watermark, waitingFor }: NonNullable<Report['head']>): string {
  const waiting = waitingFor === null ? '' : `, waiting for ${waitingFor}`;
  return `head      masterchain block ${seqno}, ${formatDuration(age)} ago; safe to read until ${formatTime(watermark)}${waiting}`;
}

const NO_MORE = ' (TONCENTER_RPS allows no more)';

/**
 * Lines about the normal lag: first what the chain takes, then one for the datasets with the common delay, and one
 * for each delay of their own.
 */
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

function lakeLine({ location, age, isWhole, error }: NonNullable<Report['lake']>): string {
  const since = formatDuration(age);
  const state = isWhole ? `has what was covered ${since} ago` : `is not complete yet, after ${since}`;
  return `lake      ${location} ${state}${error === null ? '' : `; the last round failed: ${error}`}`;
}

function tableRow(report: DatasetReport, stopped: number | undefined): string[] {
  const [first, last] = [report.covered[0], report.covered.at(-1)];
  return [
    report.dataset,
    ownRows(report.rows),
    first === undefined ? '-' : formatTime(first.from),
    last === undefined ? '-' : formatTime(last.to),
    formatDuration(lengthOf(report.covered)),
    String(report.holes.length),
    lagText(report, stopped),
    String(report.quarantined),
  ];
}

function lagText({ lag, covered }: DatasetReport, stopped: number | undefined): string {
  const end = covered.at(-1)?.to;
  if (lag === null || end === undefined) return '-';
  return formatDuration(stopped === undefined ? lag : Math.max(0, stopped - end));
}

/** The tables that are not named like a dataset. A table that several datasets fill appears once. */
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

/** The first ranges of a dataset that are being read. */
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
          `unfit     ${dataset}: ${quarantined} in quarantine: ${commandLine(`quarantine list --only ${dataset}`)}`,
        ]
      : []),
    ...drift.slice(0, SHOWN).map(driftLine),
    ...(drift.length > SHOWN ? [`drift     ${dataset}: and ${drift.length - SHOWN} more members`] : []),
    ...errorLines(report, now),
  ];
}

function driftLine({ dataset, path, type, times }: DatasetReport['drift'][number]): string {
  return `drift     ${dataset}: ${path} (${type}) has no column: ${times} records have it in their column extra`;
}

/** A table of all collections, and a line for each error. `now` in unix seconds. */
export function collectionLines(reports: readonly CollectionReport[], now: number): string[] {
  if (reports.length === 0) return [];
  const rows = reports.map((report) => [
    report.dataset,
    ownRows(report.rows),
    String(report.quarantined),
    report.lookups.map(lookupText).join('; '),
    report.walks.map((walk) => walkText(walk, now)).join('; '),
  ]);
  return [
    fitTable(['collection', 'rows', 'quarantined', 'looked up', 'read'], rows, ['looked up', 'quarantined']),
    ...reports.flatMap((report) => errorLines(report, now)),
  ];
}

function walkText({ title, progress, at, wholeAt, beingRead }: WalkReport, now: number): string {
  const ago = (time: number) => `${formatDuration(ageOf(time, now))} ago`;
  const words = [
    progress,
    wholeAt === null ? '' : `whole ${ago(wholeAt)}`,
    at === null ? '' : `last read ${ago(at)}`,
    beingRead ? 'being read' : '',
  ].filter((word) => word !== '');
  return `${title}: ${words.join(', ')}`;
}

function lookupText({ known, unknown, unserved, due }: LookupCounts): string {
  const failing = unserved === 0 ? '' : `, ${unserved} not served`;
  return `${known} known, ${unknown} unknown to the source${failing}, ${due} due`;
}

type WorkerState = Spending['workers'][number];
type Spent = Spending['spent'];

/**
 * The budget of each host, which workers spend it on what, and which wait for it: a line for each worker, and one for
 * all that have ended. A host that is no longer used is omitted. `now` in unix seconds.
 */
export function spendingLines({ budgets, workers, spent }: Spending, now: number): string[] {
  return budgets.flatMap(({ host, ...budget }) => {
    const here = spent.filter((row) => row.host === host);
    const states = workers.filter((worker) => worker.host === host);
    const isUsed = here.length > 0 || states.some(({ silent }) => silent < SILENT_SECONDS);
    if (!isUsed && budget.paused === 0) return [];
    return [budgetLine(host, budget, totalOf(here).minute / 60, now), ...workerLines(states, here)];
  });
}

function workerLines(states: readonly WorkerState[], here: Spent): string[] {
  const total = totalOf(here).hour;
  const names = new Set(states.map(({ worker }) => worker));
  const ended = here.filter(({ worker }) => !names.has(worker));
  const gone = [...new Set(ended.map(({ worker }) => worker))];
  return [
    ...states.map((state) =>
      workerLine(
        state.worker,
        state,
        here.filter(({ worker }) => worker === state.worker),
        total,
      ),
    ),
    ...(gone.length === 0
      ? []
      : [workerLine(gone.length === 1 ? gone.join() : `${gone.length} others`, undefined, ended, total)]),
  ];
}

function budgetLine(
  host: string,
  { plan, rate, paused, refusals, lastRefusal }: Omit<Spending['budgets'][number], 'host'>,
  used: number,
  now: number,
): string {
  const parts = [
    `${host} allows ${plan} requests a second; at most ${rate.toFixed(1)} are sent now, ${used.toFixed(1)} were in the last minute`,
  ];
  if (paused > 0) {
    const until = formatTime(Math.ceil(now + paused));
    parts.push(`paused for ${formatDuration(Math.ceil(paused))}, until ${until}: the API requested it`);
  }
  if (lastRefusal !== null) {
    parts.push(
      `${refusals} ${refusals === 1 ? 'refusal' : 'refusals'}, the last ${formatDuration(Math.round(lastRefusal))} ago`,
    );
  }
  return `budget    ${parts.join('; ')}`;
}

function workerLine(name: string, state: WorkerState | undefined, spent: Spent, total: number): string {
  const { hour, minute, byKind } = totalOf(spent);
  const kinds = [...byKind].map(([kind, count]) => `${kind} ${count}`);
  const share = hour === 0 ? '' : ` (${Math.round((100 * hour) / total)} %: ${kinds.join(', ')})`;
  const parts = [
    heartbeatText(state),
    `${minute} requests in the last minute, ${hour} in the last hour${share}`,
  ];
  const waiting = Object.entries(state?.waiting ?? {}).map(([priority, count]) => `${count} ${priority}`);
  if (waiting.length > 0) parts.push(`waiting: ${waiting.join(', ')}`);
  return `worker    ${name}: ${parts.join('; ')}`;
}

function heartbeatText(state: WorkerState | undefined): string {
  if (state === undefined) return 'ended';
  if (state.silent < SILENT_SECONDS) return 'alive';
  return `no heartbeat for ${formatDuration(Math.round(state.silent))}`;
}

/** Requests in the last minute and the last hour, and those of that hour by purpose. */
function totalOf(spent: Spent) {
  let [minute, hour] = [0, 0];
  const byKind = new Map<string, number>();
  for (const { priority, lastMinute, lastHour } of spent) {
    minute += lastMinute;
    hour += lastHour;
    byKind.set(priority, (byKind.get(priority) ?? 0) + lastHour);
  }
  return { minute, hour, byKind };
}
