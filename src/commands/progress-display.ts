import type { Crawl } from '../app/open-crawl.ts';
import type { StreamsReport } from '../backfill/run-backfill.ts';
import { systemClock } from '../clock.ts';
import { holderOf } from '../crawl/plan/plan-datasets.ts';
import { readWork, type Work } from '../crawl/streams/planner.ts';
import type { Dataset } from '../dataset/dataset.ts';
import { formatDuration, lengthOf, type Range } from '../range.ts';
import type { Config } from '../settings/config.ts';
import { terminal } from '../terminal/terminal.ts';
import { formatNumber } from './table.ts';
import type { InFlight } from '../budget/request-budget.ts';
import type { PageEvent } from '../crawl/crawl-context.ts';
import { countProgress, percentOf, type Progress } from './summary.ts';

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

/**
 * Shows the progress of a run that covers what is missing of a range, until it is ended. It includes what earlier runs
 * have read, and the samples of `plan`.
 */
export async function openProgress(shown: Shown): Promise<StreamsReport> {
  const { crawl, datasets, range, watermark, style, allowed } = shown;
  if (style === 'quiet') return { replaceLeft: () => undefined, end: () => undefined };
  const { database, api } = crawl.context;
  const course = trackRun({
    ...shown,
    holders: new Map(datasets.map(({ name }) => [name, holderOf(name, datasets)])),
    work: await readWork(database, datasets, range, watermark),
    requests: () => api.stats.requests,
    processing: () => api.inFlight.processing,
    isRateBound: api.inFlight.isRateBound,
    blockedBy: () => blockedBy(crawl),
    now: () => systemClock.monotonic(),
  });
  crawl.subscribe((event) => course.onPage(event));
  const names = datasets.map(({ name }) => name);
  const about = { datasets: names, course, allowed };
  const write = (line: string) => void process.stderr.write(line);
  const end = style === 'bars' ? drawBars(about) : writeLines(about, style, write);
  return { replaceLeft: course.replaceLeft, end };
}

function blockedBy({ context: { api, disk } }: Crawl): WaitsFor | undefined {
  if (disk.isFull) return 'disk';
  if (api.pausedUntil() !== undefined) return 'pause';
  return api.inFlight.others().isIdle ? 'process' : undefined;
}

/** Bars on a terminal. Other outputs get lines for people, unless `LOG_FORMAT=json`. */
export function progressStyle(config: Config, quiet = false): ProgressStyle {
  if (quiet) return 'quiet';
  if (config.progressFormat === 'json') return 'json';
  return terminal.columns === undefined ? 'text' : 'bars';
}

interface DisplayedRun {
  readonly datasets: readonly string[];
  readonly course: RunProgress;
  /** Requests that may be sent at most. */
  readonly allowed: number | undefined;
}

const REDRAW_MS = 500;
const LONGEST_BAR = 40;

/** Draws a bar for each dataset and one in total at the bottom of the terminal. Returns a function that ends it. */
function drawBars(run: DisplayedRun): () => void {
  const draw = () => terminal.showStatus(barLines(run, terminal.columns ?? 80));
  draw();
  const timer = setInterval(draw, REDRAW_MS);
  timer.unref();
  return () => {
    clearInterval(timer);
    draw();
    terminal.keepStatus();
  };
}

/** The lines of all bars, each shorter than `columns`. */
function barLines({ datasets, course, allowed }: DisplayedRun, columns: number): string[] {
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

const EVERY_MS = 5000;
/** Lines of a file are not truncated. */
const COLUMNS = 200;

/** Writes a line every few seconds, even if nothing happens. A shorter run writes none. Returns a function that ends it. */
function writeLines(run: DisplayedRun, format: 'text' | 'json', write: (line: string) => void): () => void {
  const print = () => write(`${format === 'json' ? jsonLine(run) : textLine(run)}\n`);
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

function textLine({ course, allowed }: DisplayedRun): string {
  const all = course.all();
  return `progress ${formatPercent(all.percent)}  ${overallWords(all, allowed, COLUMNS)}`;
}

function jsonLine({ datasets, course, allowed }: DisplayedRun): string {
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

/**
 * What a run waits for: a slot of the budget, the server's response, the database, the end of a pause, free disk space,
 * or another process that reads the rest. A pause is one that the server requested.
 */
export type WaitsFor = 'budget' | 'server' | 'database' | 'pause' | 'disk' | 'process';

interface RunProgressOptions extends Pick<InFlight, 'isRateBound'> {
  /** Of each dataset, the one whose pages contain nearly all its rows, if any. */
  readonly holders: ReadonlyMap<string, string | undefined>;
  /** The wanted range of each dataset, including what was covered before. */
  readonly work: readonly Work[];
  /** Requests sent so far. */
  readonly requests: () => number;
  /** Responses that are being parsed or written now. */
  readonly processing: () => number;
  /** What blocks all reading, if anything does. */
  readonly blockedBy: () => WaitsFor | undefined;
  /** Monotonic milliseconds. */
  readonly now: () => number;
}

type RunProgress = ReturnType<typeof trackRun>;

type Overall = ReturnType<RunProgress['all']>;

interface RecentPage {
  readonly at: number;
  readonly ms: number;
  readonly writingMs: number;
  readonly requests: number;
}

/** The highest percentage while something is left. */
const MOST_OPEN = 99.9;

/** After this many milliseconds, completed seconds count half. */
const HALF_LIFE_MS = 60_000;

/** The period by which `waitsFor` is judged. */
const RECENT_MS = 10_000;

export function trackRun(options: RunProgressOptions) {
  const { holders, work, requests, now } = options;
  const started = now();
  const count = countProgress(work);
  const rows = new Map([...holders.keys()].map((dataset) => [dataset, 0]));
  // Seconds of chain time that pages completed lately. It starts with the first page: before it, connections were
  // opened and the first slot was awaited.
  const pace: { seconds: number; ms: number; at: number | undefined } = { seconds: 0, ms: 0, at: undefined };
  const recent: RecentPage[] = [];
  // A dataset whose rows came with others' pages counts only later: the percentage would fall.
  let highest = 0;
  const isWhole = ({ done, total }: Progress) => done >= total;
  /** The dataset whose pages contain this one's rows, while that one is being read. */
  const comesWith = (dataset: string) => {
    const holder = holders.get(dataset);
    const isOpen = holder !== undefined && !isWhole(count.of(holder)) && !isWhole(count.of(dataset));
    return isOpen ? holder : undefined;
  };
  const left = (at: number) => {
    const { done, total } = count.all((dataset) => holders.get(dataset) === undefined);
    if (total === done || pace.at === undefined || pace.seconds === 0) return undefined;
    return ((total - done) * (pace.ms + at - pace.at)) / pace.seconds / 1000;
  };
  return {
    comesWith,
    onPage: ({ dataset, scope, records, unfit = [], completed, ms, writingMs }: PageEvent) => {
      const at = now();
      if (pace.at !== undefined) {
        const memory = 0.5 ** ((at - pace.at) / HALF_LIFE_MS);
        const isCounted = completed !== undefined && holders.get(dataset) === undefined;
        pace.seconds = pace.seconds * memory + (isCounted ? lengthOf([completed]) : 0);
        pace.ms = pace.ms * memory + at - pace.at;
      }
      pace.at = at;
      count.complete(dataset, scope, completed);
      const before = rows.get(dataset);
      if (before !== undefined) rows.set(dataset, before + records - unfit.length);
      recent.push({ at, ms, writingMs, requests: requests() });
      while ((recent[0]?.at ?? at) < at - RECENT_MS) recent.shift();
    },
    replaceLeft: count.replaceLeft,
    of: (dataset: string) => ({ rows: rows.get(dataset) ?? 0, ...count.of(dataset) }),
    all: () => {
      const elapsed = Math.max(0.001, (now() - started) / 1000);
      const sum = [...rows.values()].reduce((total, more) => total + more, 0);
      const known = knownPercentOf(count.all((dataset) => comesWith(dataset) === undefined));
      const percent =
        known === undefined || known === 100 ? known : Math.max(highest, Math.min(known, MOST_OPEN));
      highest = Math.min(percent ?? 0, MOST_OPEN);
      return {
        /** Undefined until the total is known. */
        percent,
        rows: sum,
        /** Rows a second since the start. */
        rate: Math.round(sum / elapsed),
        requests: requests(),
        /** Seconds since the start. */
        elapsed,
        /** Seconds; undefined until it can be estimated. */
        left: percent === 100 ? 0 : left(now()),
        /** Undefined if nothing is left to read. */
        waitsFor: percent === 100 ? undefined : waitsFor(options, recent, now()),
      };
    },
  };
}

/** The percentage; undefined if the dataset's pools are not known yet. */
function knownPercentOf(progress: Progress): number | undefined {
  return progress.total === 0 ? undefined : percentOf(progress);
}

/**
 * The budget if it is nearly used up; otherwise the server or the database, whichever takes more of the pages' time,
 * or delays the next page.
 */
function waitsFor(
  { isRateBound, requests, processing, blockedBy }: RunProgressOptions,
  pages: readonly RecentPage[],
  now: number,
): WaitsFor {
  const blocked = blockedBy();
  if (blocked !== undefined) return blocked;
  const recent = pages.filter(({ at }) => at >= now - RECENT_MS);
  const [first] = recent;
  if (first === undefined) return processing() > 0 ? 'database' : 'server';
  const ms = Math.max(1, now - first.at);
  if (isRateBound(requests() - first.requests, ms)) return 'budget';
  const more = recent.reduce((sum, page) => sum + page.ms - page.writingMs, 0);
  return more > 0 ? 'server' : 'database';
}
