import type { AnyJob, Dataset } from '../dataset/dataset.ts';
import { ownTablesOf } from './owners.ts';
import type { LookupWalk } from '../dataset/walk.ts';
import { literal } from './literal.ts';

/** The view etl.datasets: every dataset and its own tables. */
export function datasetsView(datasets: readonly Dataset<AnyJob>[]): string {
  const subjectsOf = (walk: LookupWalk): string[] => {
    const named = (key: string, from: string) =>
      `select ${literal(walk.name)} as walk, ${key} as subject from ${from}`;
    return [
      ...(walk.subjects.watched ? [named('r.address', 'etl.watch r')] : []),
      ...walk.subjects.seenIn.map(({ relation, key, time }) =>
        time === 'utime'
          ? `(${named(`r.${key}`, `${relation} r where r.utime >= $2 and r.utime < $3 order by r.utime desc limit 1000000`)})`
          : `(${named(`r.${key}`, `${relation} r limit 1000000`)})`,
      ),
    ];
  };
  const rows = datasets.map(({ name, job }) => {
    const own = ownTablesOf({ name, job }, datasets).map(([table]) => table);
    const kind = job.kind === 'stream' ? 'stream' : 'list';
    const lookups = job.kind === 'collection' ? job.walks.filter((walk) => walk.kind === 'lookup') : [];
    const subjects = lookups.flatMap(subjectsOf);
    const values = [
      literal(name),
      literal(kind),
      String(job.core),
      literal(job.title),
      `array[${own.map(literal).join(', ')}]::text[]`,
      subjects.length === 0 ? 'null::text' : literal(subjects.join(' union all ')),
      String(lookups.some((walk) => walk.subjects.onlyIfSeen === true)),
    ];
    return `(${values.join(', ')})`;
  });
  return `create or replace view etl.datasets as
    select * from (values ${rows.join(',\n')}) datasets (dataset, kind, core, title, tables, subjects, only_if_seen);
    ${Object.entries(COMMENTS)
      .map(([column, comment]) => `comment on column etl.datasets.${column} is ${literal(comment)};`)
      .join('\n')}
    comment on view etl.datasets is ${literal('Every dataset that can be read, whether it has been or not: one row for each file in jobs/.')};`;
}

const COMMENTS = {
  dataset: 'Name of a dataset, as commands and ETL_DATASETS take it.',
  kind: 'How it is read: a stream has a range of time that is covered. A list, or a look-up by name (also called list here), is read again from time to time.',
  core: 'True if ETL_DATASETS=core, the default, reads the dataset.',
  title: 'What the dataset is, in one line.',
  tables: "Tables of schema ton that are the dataset's own; others may write there too.",
  subjects:
    'Query for what the dataset looks up by name; null if it looks up nothing. It returns each walk with the subjects that the watch list and stored rows name, from $2 to $3.',
  only_if_seen: 'True if accounts that are not watched are looked up with ETL_ACCOUNTS=seen alone.',
};
