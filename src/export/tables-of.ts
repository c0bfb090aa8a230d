import { describeTable } from '../db/read/table-description.ts';
import type { ExportedTable } from './export.ts';

/** A dataset, as far as its tables go. */
interface Filler {
  readonly name: string;
  readonly job: {
    readonly kind: 'stream' | 'collection';
    readonly tables: Readonly<Record<string, Parameters<typeof describeTable>[0]>>;
  };
}

/** Every table once: under the dataset of its own name, else the first that fills it. */
export function tablesOf(datasets: readonly Filler[]): ExportedTable[] {
  const found = new Map<string, ExportedTable>();
  for (const { name: dataset, job } of datasets)
    for (const [name, table] of Object.entries(job.tables))
      if (!found.has(name) || name === dataset)
        found.set(name, { dataset, table: describeTable(table), isSnapshot: job.kind === 'collection' });
  return [...found.values()];
}
