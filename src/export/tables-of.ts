import type { AnyJob, Dataset } from '../dataset/dataset.ts';
import { ownTablesOf } from '../tables/describe.ts';
import { describeTable, type TableDescription } from '../read/table-rows.ts';
import type { Table } from '../dataset/declaration/row-layout.ts';

/** A table of the database, and the dataset that it belongs to. */
export interface ExportedTable {
  readonly table: Table;
  readonly facts: TableDescription;
  /** Its coverage tells which seconds of the table are complete. Rows from other datasets are included. */
  readonly dataset: string;
}

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
