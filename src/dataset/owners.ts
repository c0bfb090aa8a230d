import type { AnyJob, Dataset } from './dataset.ts';

/**
 * Datasets that fill a table, its owner first: the table is for the one that lists it furthest in front among its own.
 * What the others write there only comes along.
 */
export function ownersOf<J extends AnyJob>(table: string, datasets: readonly Dataset<J>[]): Dataset<J>[] {
  const place = ({ job }: Dataset<J>) => Object.keys(job.tables).indexOf(table);
  return datasets.filter((dataset) => place(dataset) >= 0).toSorted((a, b) => place(a) - place(b));
}
