import type { TransactionJson } from '../../src/simulator/json/transaction-json.ts';
import type { Range } from '../../src/range.ts';
import type { Truth } from '../../test/support/simulator/truth.ts';

/** The network's answer to a question: rows of values as the statement of docs/analyst/questions.md prints them. */
export type Answer = (network: Network) => readonly object[];

export interface Network {
  readonly truth: Truth;
  readonly span: Range;
  readonly transactions: readonly TransactionJson[];
  /** The range that was read for a dataset. */
  readonly spanOf: (dataset: string) => Range;
}

/** Nanotons as TON, digit by digit. */
export function ton(nanotons: bigint): string {
  const digits = String(nanotons < 0n ? -nanotons : nanotons).padStart(10, '0');
  return `${nanotons < 0n ? '-' : ''}${digits.slice(0, -9)}.${digits.slice(-9)}`;
}

/** Ascending. */
export const compare = (a: string | bigint | number, b: string | bigint | number): number =>
  a < b ? -1 : a > b ? 1 : 0;

/** A time as Postgres prints it in UTC. */
export const at = (utime: number | undefined) =>
  utime === undefined ? null : new Date(utime * 1000).toISOString().slice(0, 19).replace('T', ' ') + '+00';
