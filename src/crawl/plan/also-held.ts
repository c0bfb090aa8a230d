import { alsoHeldAmong, type Dataset } from '../../dataset/dataset.ts';
import type { Guess } from '../../read/row-estimates.ts';

const ALL: Guess = { low: 1, likely: 1, high: 1 };
/** Transactions that traces contain, and that blocks prove complete, are rarely requested. */
const ALSO_HELD: Guess = { low: 0, likely: 0.1, high: 1 };

/** The dataset of the same run whose pages contain nearly all rows of this one, if there is one. */
export function holderOf(dataset: string, datasets: readonly Dataset[]): string | undefined {
  return alsoHeldAmong(datasets).find((one) => one.dataset.name === dataset)?.holder.name;
}

/** The share of a dataset's requests that is needed if other datasets of the same run contain its rows. */
export function neededShareOf(dataset: string, datasets: readonly Dataset[]): Guess {
  return holderOf(dataset, datasets) === undefined ? ALL : ALSO_HELD;
}
