import type { AnyJob, Dataset } from '../dataset/dataset.ts';
import { ownersOf } from '../dataset/owners.ts';
import { describeTable, type TableDescription } from '../db/read/table-description.ts';

/** A table of the database, and the datasets that fill it. */
export interface ExportedTable {
  /** The Drizzle table. */
  readonly table: object;
  readonly facts: TableDescription;
  /** The one that the table is for first. */
  readonly datasets: readonly [string, ...string[]];
}

/** Every table of these datasets once. */
export function tablesOf(datasets: readonly Dataset<AnyJob>[]): ExportedTable[] {
  const tables = new Map(datasets.flatMap(({ job }) => Object.entries<object>(job.tables)));
  return [...tables].flatMap(([name, table]) => {
    const [owner, ...others] = ownersOf(name, datasets).map((dataset) => dataset.name);
    return owner === undefined ? [] : [{ table, facts: describeTable(table), datasets: [owner, ...others] }];
  });
}
