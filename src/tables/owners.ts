import type { AnyJob, Dataset } from '../dataset/dataset.ts';
import { factsOf } from './describe.ts';

/**
 * Datasets that fill a table, first the one for which it is: `owner` in `describe` of the table says which, if there are
 * several. What the others write there only comes along.
 */
export function ownersOf<J extends AnyJob>(table: string, datasets: readonly Dataset<J>[]): Dataset<J>[] {
  const filling = datasets.filter(({ job }) => table in job.tables);
  const isOther = ({ name, job }: Dataset<J>) => {
    const own = job.tables[table];
    return Number(own !== undefined && (factsOf(own).owner ?? name) !== name);
  };
  return filling.toSorted((a, b) => isOther(a) - isOther(b));
}

/** The tables that are first of all this dataset's, by name: what others write there comes along. */
export function ownTablesOf<J extends AnyJob>(
  { name, job }: Dataset<J>,
  datasets: readonly Dataset<J>[],
): readonly (readonly [name: string, table: object])[] {
  return Object.entries(job.tables).filter(([table]) => ownersOf(table, datasets)[0]?.name === name);
}
