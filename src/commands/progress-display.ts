import type { Crawl } from '../app/open-crawl.ts';
import { systemClock } from '../clock.ts';
import { holderOf, neededShareOf } from '../crawl/plan/also-held.ts';
import { readWork } from '../crawl/streams/planner.ts';
import type { Dataset } from '../dataset/dataset.ts';
import { readDensity } from '../read/activity.ts';
import { readProfiles } from '../read/row-estimates.ts';
import { formatDuration, type Range } from '../range.ts';
import type { Config } from '../settings/config.ts';
import { terminal, type Terminal } from '../terminal/terminal.ts';
import { formatNumber } from './table.ts';
import {
  type RunProgress,
  trackRun,
  knownPercentOf,
  type Overall,
  type Task,
  type WaitsFor,
} from './run-progress.ts';

/** Bars at the bottom of a terminal, lines elsewhere, or nothing. */
export type ProgressStyle = 'bars' | 'text' | 'json' | 'quiet';

interface Shown {
  readonly crawl: Crawl;
  readonly datasets: readonly Dataset[];
  readonly range: Range;
  readonly watermark: number;
  readonly style: ProgressStyle;
  /** The maximum number of requests, if there is one. */
  readonly allowed?: number | undefined;
}

/** A progress display, until it is ended. */
interface ShownProgress extends Pick<RunProgress, 'replaceLeft'> {
  end(): void;
}

/**
 * Shows the progress of a run that covers what is missing of a range. It includes what earlier runs have read, and
 * the samples of `plan`.
 */
export async function openProgress(shown: Shown): Promise<ShownProgress> {
  const { crawl, datasets, range, watermark, style, allowed } = shown;
  if (style === 'quiet') return { replaceLeft: () => undefined, end: () => undefined };
  const { database, api } = crawl.context;
  const course = trackRun({
    ...shown,
    tasks: await readTasks(shown),
    work: await readWork(database, datasets, range, watermark),
    requests: () => api.stats.requests,
    workedOn: () => api.inFlight.workedOn,
    isRateBound: api.inFlight.isRateBound,
    blockedBy: () => blockedBy(crawl),
    now: () => systemClock.monotonic(),
  });
  crawl.subscribe((event) => course.onPage(event));
  const names = datasets.map(({ name }) => name);
  const replaceLeft: RunProgress['replaceLeft'] = (dataset, missing) => course.replaceLeft(dataset, missing);
  const about = { datasets: names, course, allowed };
  const write = (line: string) => void process.stderr.write(line);
  const end =
    style === 'bars' ? drawBars({ ...about, terminal }) : writeLines({ ...about, format: style, write });
  return { replaceLeft, end };
}

function blockedBy({ context: { api, disk } }: Crawl): WaitsFor | undefined {
  if (disk.isFull) return 'disk';
  if (api.pausedUntil() !== undefined) return 'pause';
  return api.inFlight.others().isIdle ? 'process' : undefined;
}

async function readTasks({ crawl, datasets, range }: Shown): Promise<Task[]> {
  const { database } = crawl.context;
  const profiles = await readProfiles(database, range);
  const tasks: Task[] = [];
  for (const { name, job } of datasets)
    tasks.push({
      dataset: name,
      profile: profiles.get(name),
      before: await readDensity(database, name, range),
      pageSize: job.paginator.maxSize,
      share: neededShareOf(name, datasets).likely,
      holder: holderOf(name, datasets),
    });
  return tasks;
}

/** Bars on a terminal. Other outputs get lines for people, unless `LOG_FORMAT=json`. */
export function progressStyle(config: Config, quiet = false): ProgressStyle {
  if (quiet) return 'quiet';
  if (config.progressFormat === 'json') return 'json';
  return terminal.columns === undefined ? 'text' : 'bars';
}

interface BarsOptions {
  readonly datasets: readonly string[];
  readonly course: RunProgress;
  /** Requests that may be sent at most. */
  readonly allowed: number | undefined;
  readonly terminal: Terminal;
}

const REDRAW_MS = 500;
const LONGEST_BAR = 40;

/** Draws a bar for each dataset and one in total at the bottom of the terminal. Returns a function that ends it. */
function drawBars(options: BarsOptions): () => void {
  const draw = () => options.terminal.showStatus(barLines(options, options.terminal.columns ?? 80));
  draw();
  const timer = setInterval(draw, REDRAW_MS);
  timer.unref();
  return () => {
    clearInterval(timer);
    draw();
    options.terminal.keepStatus();
  };
}

/** The lines of all bars, each shorter than `columns`. */
function barLines({ datasets, course, allowed }: BarsOptions, columns: number): string[] {
  const all = course.all();
  const bars = datasets.map((name) => {
    const progress = course.of(name);
    const holder = course.comesWith(name);
    const comesWithHolder = holder !== undefined && progress.rows === 0;
    const words = comesWithHolder ? `with ${holder}` : `${formatNumber(progress.rows)} rows`;
    return { name, percent: comesWithHolder ? undefined : knownPercentOf(progress), words };
  });
  bars.push({ name: 'in all', percent: all.percent, words: `${formatNumber(all.rows)} rows` });
  const longestName = Math.max(...bars.map(({ name }) => name.length));
  const longestWords = Math.max(...bars.map(({ words }) => words.length));
  // Name, bar, percentage and words are separated by spaces. The last column stays free, because terminals differ
  // there.
  const size = Math.min(LONGEST_BAR, columns - longestName - longestWords - ' '.length * 3 - 6 - 1);
  const lines = bars.map(({ name, percent, words }) => {
    const parts = [name.padEnd(longestName), bar(percent ?? 0, size), formatPercent(percent), words];
    return parts
      .filter((part) => part !== '')
      .join(' ')
      .slice(0, columns - 1);
  });
  return [...lines, overallWords(all, allowed, columns - 1)];
}

function bar(percent: number, size: number): string {
  if (size < 5) return '';
  const done = Math.floor((size * percent) / 100);
  return '='.repeat(done) + '-'.repeat(size - done);
}

interface LinesOptions {
  readonly datasets: readonly string[];
  readonly course: RunProgress;
  /** Requests that may be sent at most. */
  readonly allowed: number | undefined;
  readonly format: 'text' | 'json';
  readonly write: (line: string) => void;
}

const EVERY_MS = 5000;
/** Lines of a file are not truncated. */
const COLUMNS = 200;

/** Writes a line every few seconds, even if nothing happens. A shorter run writes none. Returns a function that ends it. */
function writeLines(options: LinesOptions): () => void {
  const { format, write } = options;
  const print = () => write(`${format === 'json' ? jsonLine(options) : textLine(options)}\n`);
  let began = false;
  const timer = setInterval(() => {
    began = true;
    print();
  }, EVERY_MS);
  timer.unref();
  return () => {
    clearInterval(timer);
    if (began) print();
  };
}

function textLine({ course, allowed }: LinesOptions): string {
  const all = course.all();
  return `progress ${formatPercent(all.percent)}  ${overallWords(all, allowed, COLUMNS)}`;
}

function jsonLine({ datasets, course, allowed }: LinesOptions): string {
  const { percent, rows, rate, requests, elapsed, left, waitsFor } = course.all();
  return JSON.stringify({
    event: 'progress',
    percent: percent ?? null,
    rows,
    rowsPerSecond: rate,
    requests,
    allowedRequests: allowed ?? null,
    seconds: Math.round(elapsed),
    etaSeconds: left === undefined ? null : Math.round(left),
    waitsFor: waitsFor ?? null,
    datasets: Object.fromEntries(datasets.map((dataset) => [dataset, course.of(dataset)])),
  });
}

const WAITS_FOR: Readonly<Record<WaitsFor, string>> = {
  budget: 'the budget',
  server: 'the server',
  database: 'the database',
  pause: 'the end of a pause that the API requested',
  disk: 'free disk space (ETL_MIN_FREE)',
  process: 'another process, which reads the rest',
};

/** The progress of the whole run, with as many words as fit into `columns`. */
export function overallWords(
  { rows, rate, requests, left, waitsFor }: Overall,
  allowed: number | undefined,
  columns: number,
): string {
  const used = formatNumber(requests) + (allowed === undefined ? '' : ` of ${formatNumber(allowed)}`);
  // The last words are removed first.
  const words = [
    left === undefined ? 'time left not known yet' : `${formatDuration(left)} left`,
    `${formatNumber(rate)} rows/s`,
    `${used} requests`,
    ...(waitsFor === undefined ? [] : [`waits for ${WAITS_FOR[waitsFor]}`]),
    `${formatNumber(rows)} rows`,
  ];
  while (words.length > 1 && words.join(', ').length > columns) words.pop();
  return words.join(', ');
}

/** A percentage of fixed width; `-` if it is not known yet. */
function formatPercent(percent: number | undefined): string {
  return (percent === undefined ? '-' : `${percent.toFixed(1)}%`).padStart(6);
}
