import type { Range } from '../range.ts';

/** Name of the check that compares stored rows with the source. */
export const DEEP = 'deep';

/** Name of the check that compares stored rows with those that were proved. */
export const SEAL = 'seal';

const COLUMNS = ': ';

/** What is wrong with a row, and in which columns, as `differs` stores it; `columnsIn` parses it. */
export function differsText(kind: string, columns: readonly string[]): string {
  return columns.length === 0 ? kind : `${kind}${COLUMNS}${columns.join(', ')}`;
}

export function columnsIn(differs: string): string[] {
  return differs.split(COLUMNS)[1]?.split(', ') ?? [];
}

/** A row that is wrong, missing or surplus. */
export interface WrongRow {
  readonly table: string;
  /** The key of the row; empty if too many rows are missing to name each. */
  readonly key: string;
  /** Seconds of the checked dataset that hold the row. */
  readonly span: Range;
  /** Seconds in which the row itself lies, if these are others: a transaction within its trace. */
  readonly own?: Range;
  /** What is wrong with it. */
  readonly differs: string;
  /** Every dataset that holds the row, including the checked one. */
  readonly datasets: readonly string[];
}
