import type { Guess } from '../../db/read/estimates.ts';

const ALL: Guess = { low: 1, likely: 1, high: 1 };
/** Transactions that traces bring and blocks prove are hardly asked for. */
const BROUGHT: Guess = { low: 0, likely: 0.1, high: 1 };

/** The part of a dataset's requests that is needed, where other datasets of the same run may bring its rows. */
export function neededShareOf(dataset: string, datasets: readonly { readonly name: string }[]): Guess {
  const names = new Set(datasets.map(({ name }) => name));
  return dataset === 'transactions' && names.has('traces') && names.has('blocks') ? BROUGHT : ALL;
}
