import type { AnyJob, Dataset } from '../dataset/dataset.ts';
import { factsOf } from './describe.ts';
import type { Table } from '../dataset/declaration/row-layout.ts';

/** Datasets that fill a table, the owner first. If there are several, `owner` in the table's `describe` names it. */
export function ownersOf<J extends AnyJob>(table: string, datasets: readonly Dataset<J>[]): Dataset<J>[] {
  const filling = datasets.filter(({ job }) => table in job.tables);
  const isOther = ({ name, job }: Dataset<J>) => {
    const own = job.tables[table];
    return Number(own !== undefined && (factsOf(own).owner ?? name) !== name);
  };
  return filling.toSorted((a, b) => isOther(a) - isOther(b));
}

/** The tables that this dataset owns, by name. */
export function ownTablesOf<J extends AnyJob>(
  { name, job }: Dataset<J>,
  datasets: readonly Dataset<J>[],
): readonly (readonly [name: string, table: Table])[] {
  return Object.entries(job.tables).filter(([table]) => ownersOf(table, datasets)[0]?.name === name);
}
