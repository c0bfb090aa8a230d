import type { Dataset } from './dataset.ts';

/**
 * Datasets that fill a table, its owner first: the table is for the one that lists it furthest in front among its own.
 * What the others write there only comes along.
 */
export function ownersOf(table: string, datasets: readonly Dataset[]): Dataset[] {
  const place = ({ job }: Dataset) => Object.keys(job.tables).indexOf(table);
  return datasets.filter((dataset) => place(dataset) >= 0).toSorted((a, b) => place(a) - place(b));
}
