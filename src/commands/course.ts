import type { InFlight } from '../budget/in-flight.ts';
import type { PageEvent } from '../crawl/crawl-context.ts';
import { type RowRate, rowsIn } from '../crawl/plan/estimate.ts';
import type { Work } from '../crawl/streams/missing.ts';
import { lengthOf, type Range } from '../range.ts';
import { countProgress, percentOf, type Progress } from '../status/progress.ts';

/**
 * What a run waits for: a slot of the budget, the server's answer, the database, the end of a pause that the server asked
 * for, room on the disk, or another process that reads the rest.
 */
export type WaitsFor = 'budget' | 'server' | 'database' | 'pause' | 'disk' | 'process';

interface CourseOptions extends Pick<InFlight, 'isRateBound'> {
  readonly tasks: readonly Task[];
  /** What the run wants of each dataset, also what was covered before. */
  readonly work: readonly Work[];
  /** Requests sent so far. */
  readonly requests: () => number;
  /** Responses that are being read or written now. */
  readonly workedOn: () => number;
  /** What nothing can be read for, however much is left. */
  readonly blockedBy: () => WaitsFor | undefined;
  /** Monotonic milliseconds. */
  readonly now: () => number;
}

/** What has happened so far in a run, whatever is made of it. */
export interface Course {
  onPage(event: PageEvent): void;
  /** Replaces what is left of a dataset, where more than pages has covered it. */
  replaceLeft(dataset: string, missing: readonly Range[]): void;
  of(dataset: string): Progress & { readonly rows: number };
  /** The dataset whose pages bring this one's rows, while they do: until then nothing of it is done. */
  comesWith(dataset: string): string | undefined;
  all(): Overall;
}

export interface Overall {
  /** Undefined before anybody knows how much there is. */
  readonly percent: number | undefined;
  readonly rows: number;
  /** Rows a second since the start. */
  readonly rate: number;
  readonly requests: number;
  /** Seconds since the start. */
  readonly elapsed: number;
  /** Seconds; undefined before anything is known. */
  readonly left: number | undefined;
  /** Undefined where nothing is left to be read. */
  readonly waitsFor: WaitsFor | undefined;
}

interface RecentPage {
  readonly at: number;
  readonly ms: number;
  readonly writingMs: number;
  readonly requests: number;
}

/** What a run waits for is judged by the last so many milliseconds. */
const RECENT_MS = 10_000;

export function followCourse(options: CourseOptions): Course {
  const { tasks, work, requests, now } = options;
  const started = now();
  const count = countProgress(work);
  const forecast = createForecast(tasks, (dataset) => count.left(dataset));
  const rows = new Map(tasks.map(({ dataset }) => [dataset, 0]));
  const recent: RecentPage[] = [];
  const isWhole = ({ done, total }: Progress) => done >= total;
  const comesWith = (dataset: string) => {
    const bringer = tasks.find((task) => task.dataset === dataset)?.bringer;
    const isOpen = bringer !== undefined && !isWhole(count.of(bringer)) && !isWhole(count.of(dataset));
    return isOpen ? bringer : undefined;
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
      const percent = knownPercentOf(count.all((dataset) => comesWith(dataset) === undefined));
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

/** Of a dataset whose pools are not known yet nobody can say how much it is. */
export function knownPercentOf(progress: Progress): number | undefined {
  return progress.total === 0 ? undefined : percentOf(progress);
}

/** The budget where it is nearly used up, else whoever takes more of the time of all pages, or holds up the next one. */
function waitsFor(
  { isRateBound, requests, workedOn, blockedBy }: CourseOptions,
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

/** What is to be read of one dataset. */
export interface Task {
  readonly dataset: string;
  /** Rows a second by time, where `plan` has looked before. */
  readonly profile: readonly RowRate[] | undefined;
  /** Rows and seconds that were read of the range before this run: how dense it is, as far as known. */
  readonly before: { readonly rows: number; readonly seconds: number };
  readonly pageSize: number;
  /** The part of its requests that is needed, where other datasets bring the same rows; else 1. */
  readonly share: number;
  /** The dataset whose pages bring nearly all rows of this one, if there is one. */
  readonly bringer?: string | undefined;
}

/** How long the rest will take. */
interface Forecast {
  /** A page was committed. */
  learn(dataset: string, rows: number, completed: Range | undefined, at: number): void;
  /** Seconds until all is read; undefined before anything is known. `at` is in monotonic milliseconds. */
  left(at: number): number | undefined;
}

/** After so many pages it shows whether a plan foresaw too much or too little. */
const SURE_PAGES = 10;

interface State {
  readonly task: Task;
  /** Of the pages of this run. */
  rows: number;
  seconds: number;
  /** Rows that the plan foresaw for the seconds of these pages. */
  foreseen: number;
}

/** Work of the last so many milliseconds counts twice as much as that before it. */
const HALF_LIFE_MS = 60_000;

/**
 * Work is counted in requests, because the budget is: a second of chain time costs as many as its rows need, by the
 * profile that `plan` has found, else as dense as what was read so far. `leftOf` says what is left of a dataset now.
 */
export function createForecast(
  tasks: readonly Task[],
  leftOf: (dataset: string) => readonly Range[],
): Forecast {
  const states = new Map<string, State>(
    tasks.map((task) => [task.dataset, { task, rows: 0, seconds: 0, foreseen: 0 }]),
  );
  // From the first page on: what went before it was opening connections and waiting for the first slot.
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
      // What nobody has seen a page of may be the most of the work.
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

function isUnknown({ task, seconds }: State): boolean {
  return task.bringer === undefined && task.profile === undefined && seconds + task.before.seconds === 0;
}

/** Rows that are still to come. What a plan foresaw is scaled by what pages really brought. */
function expected({ task, rows, seconds, foreseen }: State, left: readonly Range[]): number {
  if (lengthOf(left) === 0) return 0;
  if (task.profile !== undefined) {
    const scale = foreseen > SURE_PAGES * task.pageSize ? rows / foreseen : 1;
    return scale * rowsIn(task.profile, left);
  }
  const known = { rows: rows + task.before.rows, seconds: seconds + task.before.seconds };
  return known.seconds === 0 ? 0 : (known.rows / known.seconds) * lengthOf(left);
}
