import type { AnyJob, Dataset } from './dataset.ts';

/**
 * Datasets that fill a table, its owner first: the table is for the one that lists it furthest in front among its own.
 * What the others write there only comes along.
 */
export function ownersOf<J extends AnyJob>(table: string, datasets: readonly Dataset<J>[]): Dataset<J>[] {
  const place = ({ job }: Dataset<J>) => Object.keys(job.tables).indexOf(table);
  return datasets.filter((dataset) => place(dataset) >= 0).toSorted((a, b) => place(a) - place(b));
}

/** The tables that are first of all this dataset's, by name: what others write there comes along. */
export function ownTablesOf<J extends AnyJob>(
  { name, job }: Dataset<J>,
  datasets: readonly Dataset<J>[],
): readonly (readonly [name: string, table: object])[] {
  return Object.entries(job.tables).filter(([table]) => ownersOf(table, datasets)[0]?.name === name);
}
