import type { Catalog, Entity } from './catalog.ts';
import type { Feed } from './needs.ts';

const HEAD = `# Sources of the dbt project: every table and view of schema ton, with its columns. Made by npm run docs.
version: 2
sources:
  - name: ton
    schema: ton
    loader: toncenter-etl
    config:
      freshness:
        warn_after: { count: 1, period: hour }
        error_after: { count: 1, period: day }
    tables:`;

/** Sources of a dbt project. A text in JSON's quotes is also valid YAML. */
export function writeDbtSources({ entities }: Catalog, feeds: readonly Feed[]): string {
  const streamed = new Set(feeds.filter(({ kind }) => kind === 'stream').map(({ relation }) => relation));
  const ton = entities.filter(({ schema }) => schema === 'ton');
  return [HEAD, ...ton.flatMap((entity) => tableLines(entity, streamed.has(entity.name))), ''].join('\n');
}

function tableLines({ name, comment, columns, key, partitioned }: Entity, isStreamed: boolean): string[] {
  return [
    `      - name: ${name}`,
    `        description: ${JSON.stringify(comment)}`,
    ...(isStreamed
      ? [`        loaded_at_query: ${JSON.stringify(coveredUntil(name))}`]
      : ['        config: { freshness: null }']),
    ...(key.length > 0
      ? [
          '        data_tests:',
          `          - unique_key: { arguments: { columns: [${key.join(', ')}] }${partitioned ? lastDay(name) : ''} }`,
        ]
      : []),
    '        columns:',
    ...columns.flatMap((column) => [
      `          - name: ${column.name}`,
      `            description: ${JSON.stringify(column.comment)}`,
      `            data_type: ${column.type}`,
    ]),
  ];
}

/** Up to when every stream that feeds a relation is covered: one that was never read makes it as old as possible. */
function coveredUntil(relation: string): string {
  return `select min(to_timestamp(coalesce((select max(upper(c.covered)) from etl.coverage c where c.dataset = d.dataset and c.pass = 0), 0))) from etl.feeds f join etl.datasets d using (dataset) where f.relation = '${relation}' and d.kind = 'stream'`;
}

/** For a table by time the newest day is enough: Postgres itself enforces the key. */
function lastDay(name: string): string {
  return `, config: { where: "utime > (select max(utime) - interval '1 day' from ton.${name})" }`;
}
