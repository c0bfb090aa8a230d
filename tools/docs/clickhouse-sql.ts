import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { packageRoot } from '../../src/package.ts';
import { definitionsBut, tableView } from './definitions.ts';
import { toClickHouse } from './to-clickhouse.ts';

/** ClickHouse has no lateral, and forgets columns by which a row looks up others. */
const REFUSED: ReadonlySet<string> = new Set([
  'ton.jetton_mints',
  'etl.refused_transfers',
  'ton.account_ledger',
  'etl.open_dex_volume',
  'ton.complaints',
]);

/** The path of the lake on the page, for the reader to replace. */
const LAKE = '/data/lake';

/**
 * Statements that let ClickHouse read a lake: its tables through their logs, and the views that analysts have
 * in Postgres, from the same definitions. Empty lines separate them, so that one whose table the lake lacks
 * can be left out.
 */
export async function clickHouseSql(): Promise<string> {
  const { tables, views: all } = await definitionsBut(REFUSED);
  const views = all.map(({ name, query }) => ({
    name: name.replace('etl.open_', 'ton.'),
    query: withNames(toClickHouse(query)),
  }));
  return [
    (await readFile(join(packageRoot, 'tools', 'docs', 'clickhouse.sql'), 'utf8')).trimEnd(),
    ...tables.map((table) =>
      tableView(`ton.${table.name}`, `deltaLakeLocal('${LAKE}/${table.name}')`, table),
    ),
    ...views.map(({ name, query }) => `create or replace view ${name} as\n${query};`),
    'use ton;\n',
  ].join('\n\n');
}

/**
 * Names the columns that a query takes from joined tables: otherwise one that two of them have is named with its table.
 * What a left join does not find is null only with a setting.
 */
function withNames(query: string): string {
  if (!query.includes('\nleft join ')) return query;
  const named = query.replace(/^select [\s\S]*?(?=\nfrom )/, (list) =>
    list.replaceAll(/(?<=select |, |,\n  )(\w)\.(\w+)(?=,|$)/g, '$1.$2 as $2'),
  );
  return `${named}\nsettings join_use_nulls = 1`;
}
