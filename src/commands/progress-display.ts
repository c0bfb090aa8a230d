import type { Crawl } from '../app/open-crawl.ts';
import { systemClock } from '../clock.ts';
import { holderOf, neededShareOf } from '../crawl/plan/plan-datasets.ts';
import { readWork, type Work } from '../crawl/streams/planner.ts';
import type { Dataset } from '../dataset/dataset.ts';
import { readDensity } from '../read/stored-status.ts';
import { readProfiles } from '../read/row-estimates.ts';
import { formatDuration, type Range, lengthOf } from '../range.ts';
import type { Config } from '../settings/config.ts';
import { terminal, type Terminal } from '../terminal/terminal.ts';
import { formatNumber } from './table.ts';
import type { InFlight } from '../budget/in-flight.ts';
import type { PageEvent } from '../crawl/crawl-context.ts';
import { type RowRate, rowsIn } from '../crawl/plan/estimate.ts';
import { countProgress, percentOf, type Progress } from '../status/progress.ts';

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

/**
 * What a run waits for: a slot of the budget, the server's response, the database, the end of a pause, free disk space,
 * or another process that reads the rest. A pause is one that the server requested.
 */
export type WaitsFor = 'budget' | 'server' | 'database' | 'pause' | 'disk' | 'process';

interface RunProgressOptions extends Pick<InFlight, 'isRateBound'> {
  readonly tasks: readonly Task[];
  /** The wanted range of each dataset, including what was covered before. */
  readonly work: readonly Work[];
  /** Requests sent so far. */
  readonly requests: () => number;
  /** Responses that are being parsed or written now. */
  readonly workedOn: () => number;
  /** What blocks all reading, if anything does. */
  readonly blockedBy: () => WaitsFor | undefined;
  /** Monotonic milliseconds. */
  readonly now: () => number;
}

/** The progress of a run so far. */
interface RunProgress {
  onPage(event: PageEvent): void;
  /** Sets what is left of a dataset, if something else than pages has covered a part of it. */
  replaceLeft(dataset: string, missing: readonly Range[]): void;
  of(dataset: string): Progress & { readonly rows: number };
  /** The dataset whose pages contain this one's rows, while that one is being read. */
  comesWith(dataset: string): string | undefined;
  all(): Overall;
}

interface Overall {
  /** Undefined until the total is known. */
  readonly percent: number | undefined;
  readonly rows: number;
  /** Rows a second since the start. */
  readonly rate: number;
  readonly requests: number;
  /** Seconds since the start. */
  readonly elapsed: number;
  /** Seconds; undefined until it can be estimated. */
  readonly left: number | undefined;
  /** Undefined if nothing is left to read. */
  readonly waitsFor: WaitsFor | undefined;
}

interface RecentPage {
  readonly at: number;
  readonly ms: number;
  readonly writingMs: number;
  readonly requests: number;
}

/** The highest percentage while something is left. */
const MOST_OPEN = 99.9;

/** The period by which `waitsFor` is judged. */
const RECENT_MS = 10_000;

export function trackRun(options: RunProgressOptions): RunProgress {
  const { tasks, work, requests, now } = options;
  const started = now();
  const count = countProgress(work);
  const forecast = createForecast(tasks, (dataset) => count.left(dataset));
  const rows = new Map(tasks.map(({ dataset }) => [dataset, 0]));
  const recent: RecentPage[] = [];
  // A dataset whose rows came with others' pages counts only later: the percentage would fall.
  let highest = 0;
  const isWhole = ({ done, total }: Progress) => done >= total;
  const comesWith = (dataset: string) => {
    const holder = tasks.find((task) => task.dataset === dataset)?.holder;
    const isOpen = holder !== undefined && !isWhole(count.of(holder)) && !isWhole(count.of(dataset));
    return isOpen ? holder : undefined;
  };
  return {
    comesWith,
    onPage({ dataset, scope, records, unfit = [], completed, ms, writingMs }) {
      const at = now();
      forecast.learn(dataset, records, completed, at);
      count.complete(dataset, scope, completed);
      const before = rows.get(dataset);
      if (before !== undefined) rows.set(dataset, before + records - unfit.length);
      recent.push({ at, ms, writingMs, requests: requests() });
      while ((recent[0]?.at ?? at) < at - RECENT_MS) recent.shift();
    },
    replaceLeft: (dataset, missing) => count.replaceLeft(dataset, missing),
    of: (dataset) => ({ rows: rows.get(dataset) ?? 0, ...count.of(dataset) }),
    all() {
      const elapsed = Math.max(0.001, (now() - started) / 1000);
      const sum = [...rows.values()].reduce((total, more) => total + more, 0);
      const known = knownPercentOf(count.all((dataset) => comesWith(dataset) === undefined));
      const percent =
        known === undefined || known === 100 ? known : Math.max(highest, Math.min(known, MOST_OPEN));
      highest = Math.min(percent ?? 0, MOST_OPEN);
      return {
        percent,
        rows: sum,
        rate: Math.round(sum / elapsed),
        requests: requests(),
        elapsed,
        left: forecast.left(now()),
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
  { isRateBound, requests, workedOn, blockedBy }: RunProgressOptions,
  pages: readonly RecentPage[],
  now: number,
): WaitsFor {
  const blocked = blockedBy();
  if (blocked !== undefined) return blocked;
  const recent = pages.filter(({ at }) => at >= now - RECENT_MS);
  const [first] = recent;
  if (first === undefined) return workedOn() > 0 ? 'database' : 'server';
  const ms = Math.max(1, now - first.at);
  if (isRateBound(requests() - first.requests, ms)) return 'budget';
  const more = recent.reduce((sum, page) => sum + page.ms - page.writingMs, 0);
  return more > 0 ? 'server' : 'database';
}

/** The work for one dataset. */
export interface Task {
  readonly dataset: string;
  /** Rows a second over time, if `plan` has sampled the range. */
  readonly profile: readonly RowRate[] | undefined;
  /** Rows and seconds of the range that were read before this run, which give its density. */
  readonly before: { readonly rows: number; readonly seconds: number };
  readonly pageSize: number;
  /** The share of its requests that is needed, if other datasets bring the same rows; otherwise 1. */
  readonly share: number;
  /** The dataset whose pages contain nearly all rows of this one, if any. */
  readonly holder?: string | undefined;
}

/** Estimates the remaining time. */
interface Forecast {
  /** Notes a committed page. */
  learn(dataset: string, rows: number, completed: Range | undefined, at: number): void;
  /** Seconds until all is read; undefined until it can be estimated. `at` is in monotonic milliseconds. */
  left(at: number): number | undefined;
}

/** The number of pages after which the plan's estimate is corrected by what was read. */
const SURE_PAGES = 10;

interface TaskState {
  readonly task: Task;
  /** In the pages of this run. */
  rows: number;
  seconds: number;
  /** Rows that the plan expected for the seconds of these pages. */
  foreseen: number;
}

/** After this many milliseconds, work counts half. */
const HALF_LIFE_MS = 60_000;

/**
 * Work is counted in requests, because the budget is. A second of chain time costs as many requests as its rows need:
 * they are estimated by the profile that `plan` has found, else by what was read so far. `leftOf` says what is left of a dataset now.
 */
export function createForecast(
  tasks: readonly Task[],
  leftOf: (dataset: string) => readonly Range[],
): Forecast {
  const states = new Map<string, TaskState>(
    tasks.map((task) => [task.dataset, { task, rows: 0, seconds: 0, foreseen: 0 }]),
  );
  // Starts with the first page: before it, connections were opened and the first slot was awaited.
  const pace: { work: number; ms: number; at: number | undefined } = { work: 0, ms: 0, at: undefined };
  const costOf = (name: string, rows: number) => {
    const task = states.get(name)?.task;
    return task === undefined ? 0 : rows / task.pageSize;
  };
  return {
    learn(name, rows, completed, at) {
      const state = states.get(name);
      if (state === undefined) return;
      const { task } = state;
      state.rows += rows;
      if (completed !== undefined) {
        state.seconds += completed.to - completed.from;
        state.foreseen += rowsIn(task.profile ?? [], [completed]);
      }
      if (pace.at !== undefined) {
        const passed = at - pace.at;
        const memory = 0.5 ** (passed / HALF_LIFE_MS);
        pace.work = pace.work * memory + costOf(name, rows);
        pace.ms = pace.ms * memory + passed;
      }
      pace.at = at;
    },
    left(at) {
      const all = [...states.values()];
      // Without a page of a dataset, its size is unknown: it may be most of the work.
      if (all.some((state) => isUnknown(state) && lengthOf(leftOf(state.task.dataset)) > 0)) return undefined;
      const work = all.reduce(
        (sum, state) =>
          sum + (state.task.share * expected(state, leftOf(state.task.dataset))) / state.task.pageSize,
        0,
      );
      const isDone = tasks.every(({ dataset }) => lengthOf(leftOf(dataset)) === 0);
      if (work === 0) return isDone ? 0 : undefined;
      if (pace.at === undefined || pace.work === 0) return undefined;
      return (work * (pace.ms + at - pace.at)) / pace.work / 1000;
    },
  };
}

function isUnknown({ task, seconds }: TaskState): boolean {
  return task.holder === undefined && task.profile === undefined && seconds + task.before.seconds === 0;
}

/** Rows that are still expected. The plan's estimate is scaled by the rows that really came. */
function expected({ task, rows, seconds, foreseen }: TaskState, left: readonly Range[]): number {
  if (lengthOf(left) === 0) return 0;
  if (task.profile !== undefined) {
    const scale = foreseen > SURE_PAGES * task.pageSize ? rows / foreseen : 1;
    return scale * rowsIn(task.profile, left);
  }
  const known = { rows: rows + task.before.rows, seconds: seconds + task.before.seconds };
  return known.seconds === 0 ? 0 : (known.rows / known.seconds) * lengthOf(left);
}
