import { MultiBar } from 'cli-progress';
import type { PageEvent } from '../../crawl/crawl-context.ts';
import { formatDuration, type Range } from '../../range.ts';
import { countProgress, percentOf, type Progress, type Work } from '../../status/progress.ts';
import { createForecast, type Task } from './forecast.ts';
import { formatNumber } from './format-number.ts';

/** Shows progress page by page: bars on a terminal, JSON lines in a pipe, nothing where it shall be quiet. */
export interface ProgressDisplay {
  onPage(event: PageEvent): void;
  /** Replaces what is left of a dataset, where more than pages has covered it. */
  replaceLeft(dataset: string, missing: readonly Range[]): void;
  end(): void;
}

/** What a run waits for: a slot of the budget, the server's response, or the database. */
export type WaitsFor = 'budget' | 'server' | 'database';

export interface ProgressOptions {
  readonly tasks: readonly Task[];
  /** What the run wants of each dataset, also what was covered before. */
  readonly work: readonly Work[];
  readonly style: 'bars' | 'lines' | 'quiet';
  /** Requests sent so far, and how many may be sent at most. */
  readonly requests: () => number;
  readonly allowed: number | undefined;
  /** Requests a second of the plan, and how many are asked for at once. */
  readonly rps: number;
  readonly concurrency: number;
  /** Monotonic milliseconds. */
  readonly now: () => number;
  readonly write: (text: string) => void;
}

const LINE_EVERY_MS = 5000;
const REDRAW_MS = 500;
/** Columns for the longest words beside the bar. */
const WORDS = 58;
/** What a run waits for is judged by the last so many milliseconds. */
const RECENT_MS = 10_000;

export function createProgressDisplay(options: ProgressOptions): ProgressDisplay {
  const course = follow(options);
  if (options.style === 'quiet') return { ...course, end: () => undefined };
  return options.style === 'bars' ? bars(options, course) : lines(options, course);
}

interface Course extends Omit<ProgressDisplay, 'end'> {
  of(dataset: string): Progress & { readonly rows: number };
  all(): Overall;
}

interface Overall {
  readonly percent: number;
  readonly rows: number;
  readonly rate: number;
  readonly requests: number;
  readonly elapsed: number;
  /** Seconds; undefined before anything is known. */
  readonly left: number | undefined;
  readonly waitsFor: WaitsFor;
}

/** What has happened so far, whatever is made of it. */
function follow(options: ProgressOptions): Course {
  const { tasks, work, requests, now } = options;
  const started = now();
  const count = countProgress(work);
  const forecast = createForecast(tasks, (dataset) => count.left(dataset));
  const rows = new Map(tasks.map(({ dataset }) => [dataset, 0]));
  const recent: { readonly at: number; readonly ms: number; readonly requests: number }[] = [];
  return {
    onPage({ dataset, scope, records, completed, ms }) {
      const at = now();
      forecast.learn(dataset, records, completed, at);
      count.complete(dataset, scope, completed);
      const before = rows.get(dataset);
      if (before !== undefined) rows.set(dataset, before + records);
      recent.push({ at, ms, requests: requests() });
      while ((recent[0]?.at ?? at) < at - RECENT_MS) recent.shift();
    },
    replaceLeft: (dataset, missing) => count.replaceLeft(dataset, missing),
    of: (dataset) => ({ rows: rows.get(dataset) ?? 0, ...count.of(dataset) }),
    all() {
      const elapsed = Math.max(0.001, (now() - started) / 1000);
      const sum = [...rows.values()].reduce((total, more) => total + more, 0);
      return {
        percent: percentOf(count.all()),
        rows: sum,
        rate: Math.round(sum / elapsed),
        requests: requests(),
        elapsed,
        left: forecast.left(now()),
        waitsFor: waitsFor(options, recent, now()),
      };
    },
  };
}

/** The budget where it is nearly used up, else whoever takes more of the time of all loops. */
function waitsFor(
  { rps, concurrency, requests }: ProgressOptions,
  recent: readonly { readonly at: number; readonly ms: number; readonly requests: number }[],
  at: number,
): WaitsFor {
  const [first] = recent;
  if (first === undefined) return 'server';
  const ms = Math.max(1, at - first.at);
  if (((requests() - first.requests) * 1000) / ms > 0.8 * rps) return 'budget';
  const asking = recent.reduce((sum, page) => sum + page.ms, 0);
  return asking > 0.5 * concurrency * ms ? 'server' : 'database';
}

function words(
  { rows, rate, requests, left, waitsFor: reason }: Overall,
  allowed: number | undefined,
): string {
  const used = allowed === undefined ? `${requests}` : `${requests}/${allowed}`;
  const rest = left === undefined ? '?' : formatDuration(left);
  return `${formatNumber(rows)} rows  ${formatNumber(rate)}/s  ${used} requests  ${rest} left  (${reason})`;
}

/** One bar a dataset and one in total. */
function bars({ tasks, allowed }: ProgressOptions, course: Course): ProgressDisplay {
  // Whatever ends this process, even SIGKILL, leaves a terminal with its cursor and its wrapping of lines. A single bar
  // of this library also restores a cursor position at its end, on top of what was logged since.
  const display = new MultiBar({
    format: '{name} {bar} {percent}%  {words}',
    barsize: barSize(process.stderr.columns),
    linewrap: true,
    gracefulExit: false,
    clearOnComplete: false,
    forceRedraw: true,
  });
  const width = Math.max(...tasks.map(({ dataset }) => dataset.length), 'in all'.length);
  const draw = () => {
    for (const [name, line] of own) {
      const { rows, done, total } = course.of(name);
      // Of a dataset whose pools are not known yet nobody can say how much it is.
      const percent = total === 0 ? '-' : percentOf({ done, total }).toFixed(1);
      const note = `${formatNumber(rows)} rows`;
      line.setTotal(Math.max(1, total));
      line.update(done, { name: name.padEnd(width), percent: percent.padStart(5), words: note });
    }
    const all = course.all();
    const payload = { name: 'in all'.padEnd(width), percent: all.percent.toFixed(1).padStart(5) };
    sum.update(all.percent, { ...payload, words: words(all, allowed) });
  };
  // The library writes into the object that it is given: each bar has its own.
  const empty = { name: '', percent: '0.0', words: '' };
  const own = tasks.map(({ dataset }) => [dataset, display.create(1, 0, { ...empty })] as const);
  const sum = display.create(100, 0, { ...empty });
  draw();
  const timer = setInterval(draw, REDRAW_MS);
  timer.unref();
  const { onPage, replaceLeft } = course;
  return {
    onPage,
    replaceLeft,
    end() {
      clearInterval(timer);
      draw();
      display.stop();
    },
  };
}

/** What the words beside the bar leave of a line of so many columns. */
function barSize(columns = 80): number {
  return Math.max(5, Math.min(40, columns - WORDS - 24));
}

/** One JSON line every few seconds, also while nothing comes, and one at the end. */
function lines({ tasks, allowed, write }: ProgressOptions, course: Course): ProgressDisplay {
  const line = () => {
    const { percent, rows, rate, requests, elapsed, left, waitsFor: reason } = course.all();
    const fields = {
      percent,
      rows,
      rowsPerSecond: rate,
      requests,
      allowedRequests: allowed ?? null,
      seconds: Math.round(elapsed),
      etaSeconds: left === undefined ? null : Math.round(left),
      waitsFor: reason,
      datasets: Object.fromEntries(tasks.map(({ dataset }) => [dataset, course.of(dataset)])),
    };
    write(`${JSON.stringify({ event: 'progress', ...fields })}\n`);
  };
  const timer = setInterval(line, LINE_EVERY_MS);
  timer.unref();
  const { onPage, replaceLeft } = course;
  return {
    onPage,
    replaceLeft,
    end() {
      clearInterval(timer);
      line();
    },
  };
}
