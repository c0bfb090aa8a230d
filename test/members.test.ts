import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { AnyJob, Dataset } from '../src/dataset/dataset.ts';
import { loadDatasets } from '../src/dataset/load-jobs.ts';
import { omissions } from './support/rebuild/omissions.ts';
import { describeTable } from '../src/read/table-rows.ts';

/** Where a column's comment says that its value comes from; undefined for columns of our own. */
function memberOf(comment: string): string | undefined {
  return /(?:From|The index in) ([^;]+?)(?:;|\.$|\. |$)/.exec(comment)?.[1];
}

function endpointsOf({ job }: Dataset<AnyJob>): string[] {
  if (job.kind === 'stream') return [job.path];
  const endpoints = job.walks.map(({ endpoint }) =>
    'path' in endpoint ? endpoint.path : `/api/v2/${endpoint.method}`,
  );
  return [...new Set(endpoints)];
}

function section(dataset: Dataset<AnyJob>): string {
  const rows = Object.values(dataset.job.tables)
    .map(describeTable)
    .flatMap(({ name, columns }) =>
      columns.flatMap((column) => {
        const member = memberOf(column.comment);
        return member === undefined ? [] : [`| \`${member}\` | \`${name}.${column.name}\` |`];
      }),
    );
  const endpoints = endpointsOf(dataset).map((endpoint) => `\`${endpoint}\``);
  return [
    `## ${dataset.name}`,
    `From ${endpoints.join(', ')}.`,
    ['| member | column |', '|---|---|', ...rows].join('\n'),
  ].join('\n\n');
}

test('docs/members.md says of every member where it lands, or why it is left out', async () => {
  const datasets = await loadDatasets();
  const left = omissions.map(
    ({ endpoint, member, reason }) => `| \`${endpoint}\` | \`${member}\` | ${reason} |`,
  );
  const page = [
    '# Where every member lands',
    'Of each dataset, which member of the API goes into which column, as the comments of the columns say it (`\\d+` in psql shows them too). Members that no column takes are kept in `extra`. This page is made by `npx vitest run test/members.test.ts -u`; a test fails where it is out of date.',
    ...datasets.map(section),
    '## Left out on purpose',
    ['| endpoint | member | why |', '|---|---|---|', ...left].join('\n'),
  ].join('\n\n');
  await expect(`${page}\n`).toMatchFileSnapshot(join(import.meta.dirname, '../docs/members.md'));
});
