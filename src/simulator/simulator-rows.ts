import type { Random } from './random.ts';

/** Rows in some order, read by position. */
export interface OrderedRows {
  readonly length: number;
  at(index: number): number;
}

/** A part of a longer sequence. */
export function slice(source: (index: number) => number, from: number, to: number): OrderedRows {
  return { length: Math.max(0, to - from), at: (index) => source(from + index) };
}

/** Rows given as a list. */
export function listed(rows: readonly number[]): OrderedRows {
  return { length: rows.length, at: (index) => rows[index] ?? 0 };
}

/** Walks ascending rows up or down, leaving out those that do not pass. */
export function* walk(
  rows: OrderedRows,
  descending: boolean,
  passes: (row: number) => boolean,
): Generator<number> {
  for (let i = 0; i < rows.length; i++) {
    const row = rows.at(descending ? rows.length - 1 - i : i);
    if (passes(row)) yield row;
  }
}

/** True if two neighboring rows have the same place in an order. */
type Tied = (a: number, b: number) => boolean;

/** Turns each run of tied rows around: for an order whose last key does not follow the direction. */
export function reverseTies(rows: Iterable<number>, tied: Tied): Generator<number> {
  return eachRun(rows, tied, (run) => run.reverse());
}

/** Shuffles each run of tied rows: what a database does with an order that is not total. */
export function shuffleTies(rows: Iterable<number>, tied: Tied, random: Random): Generator<number> {
  return eachRun(rows, tied, (run) => random.shuffle(run));
}

function* eachRun(
  rows: Iterable<number>,
  tied: Tied,
  change: (run: number[]) => number[],
): Generator<number> {
  let run: number[] = [];
  for (const row of rows) {
    const previous = run.at(-1);
    if (previous !== undefined && !tied(previous, row)) {
      yield* change(run);
      run = [];
    }
    run.push(row);
  }
  yield* change(run);
}

/** The rows beginning somewhere in the middle: what a database does without any order. */
export function rotate(rows: OrderedRows, random: Random): OrderedRows {
  const start = random.below(Math.max(1, rows.length));
  return { length: rows.length, at: (index) => rows.at((index + start) % rows.length) };
}
