import type { Range } from '../range.ts';

/** Name of the check that compares stored rows with the source. */
export const DEEP = 'deep';

/** Name of the check that holds what is stored against what was proved. */
export const SEAL = 'seal';

const COLUMNS = ': ';

/** What is wrong with a row, and in which columns, as `differs` keeps it; `columnsIn` reads them back. */
export function differsText(kind: string, columns: readonly string[]): string {
  return columns.length === 0 ? kind : `${kind}${COLUMNS}${columns.join(', ')}`;
}

export function columnsIn(differs: string): string[] {
  return differs.split(COLUMNS)[1]?.split(', ') ?? [];
}

/** A row that is wrong, missing or surplus. */
export interface WrongRow {
  readonly table: string;
  /** What names the row; empty where too many are missing to name each. */
  readonly key: string;
  /** Seconds in which the dataset that was checked holds the row. */
  readonly span: Range;
  /** Seconds in which the row itself lies, where these are others: a transaction within its trace. */
  readonly own?: Range;
  /** What is wrong with it. */
  readonly differs: string;
  /** Every dataset that holds the row, the one that was checked among them. */
  readonly datasets: readonly string[];
}
