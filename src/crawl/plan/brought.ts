import { broughtAmong, type Dataset } from '../../dataset/dataset.ts';
import type { Guess } from '../../read/row-estimates.ts';

const ALL: Guess = { low: 1, likely: 1, high: 1 };
/** Transactions that traces contain, and that blocks prove complete, are hardly requested. */
const BROUGHT: Guess = { low: 0, likely: 0.1, high: 1 };

/** The dataset of the same run whose pages contain nearly all rows of this one, if there is one. */
export function bringerOf(dataset: string, datasets: readonly Dataset[]): string | undefined {
  return broughtAmong(datasets).find((one) => one.dataset.name === dataset)?.bringer.name;
}

/** The share of a dataset's requests that is needed if other datasets of the same run contain its rows. */
export function neededShareOf(dataset: string, datasets: readonly Dataset[]): Guess {
  return bringerOf(dataset, datasets) === undefined ? ALL : BROUGHT;
}
