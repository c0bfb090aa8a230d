import type { AnyJob, Dataset } from '../../dataset/dataset.ts';
import { ownTablesOf } from '../../dataset/owners.ts';
import { literal } from '../migrate/literal.ts';

/** The view etl.datasets: every dataset there is, and the tables that are its own. */
export function datasetsView(datasets: readonly Dataset<AnyJob>[]): string {
  const rows = datasets.map(({ name, job }) => {
    const own = ownTablesOf({ name, job }, datasets).map(([table]) => table);
    const kind = job.kind === 'stream' ? 'stream' : 'list';
    const values = [literal(name), literal(kind), String(job.core), literal(job.title)];
    return `(${values.join(', ')}, array[${own.map(literal).join(', ')}]::text[])`;
  });
  return `create or replace view etl.datasets as
    select * from (values ${rows.join(',\n')}) datasets (dataset, kind, core, title, tables);
    ${Object.entries(COMMENTS)
      .map(([column, comment]) => `comment on column etl.datasets.${column} is ${literal(comment)};`)
      .join('\n')}
    comment on view etl.datasets is ${literal('Every dataset that can be read, whether it has been or not: one row for each file in jobs/.')};`;
}

const COMMENTS = {
  dataset: 'Name of a dataset, as commands and ETL_DATASETS take it.',
  kind: 'stream: has a range of time that is covered. list: a list, or look-ups by name, read again from time to time.',
  core: 'True where ETL_DATASETS=core, the default, reads the dataset.',
  title: 'What the dataset is, in one line.',
  tables: "Tables of schema ton that are the dataset's own; others may write there too.",
};
