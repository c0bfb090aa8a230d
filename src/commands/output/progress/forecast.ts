import { rowsIn, type RowRate } from '../../../crawl/plan/estimate.ts';
import { lengthOf, type Range } from '../../../range.ts';

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
export interface Forecast {
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
