import type { AnyJob, Dataset } from '../dataset/dataset.ts';
import { ownTablesOf } from '../tables/owners.ts';
import { describeTable, type TableDescription } from '../read/table-description.ts';

/** A table of the database, and the dataset that it is for. */
export interface ExportedTable {
  /** The Drizzle table. */
  readonly table: object;
  readonly facts: TableDescription;
  /** What it covers, the table has all rows of, as `etl.feeds` has it; what other datasets write there comes along. */
  readonly dataset: string;
}

/** The tables that are for these datasets, of all that there are. */
export function tablesOf(
  chosen: readonly Dataset<AnyJob>[],
  available: readonly Dataset<AnyJob>[],
): ExportedTable[] {
  return chosen.flatMap((dataset) =>
    ownTablesOf(dataset, available).map(([, table]) => ({
      table,
      facts: describeTable(table),
      dataset: dataset.name,
    })),
  );
}
