import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { packageRoot } from '../../src/package.ts';
import { definitionsBut, tableView } from './definitions.ts';
import { toClickHouse } from './to-clickhouse.ts';

/** The path of the lake on the page, for the reader to replace. */
const LAKE = '/data/lake';

/**
 * Statements that let ClickHouse read a lake: its tables through their logs, and the views that analysts have
 * in Postgres, from the same definitions. Empty lines separate them, so that one whose table the lake lacks
 * can be left out.
 */
export async function clickHouseSql(): Promise<string> {
  const { tables, views: all } = await definitionsBut(new Set());
  const views = all
    .map(({ name, query }) => ({ name: name.replace('etl.open_', 'ton.'), query: toClickHouse(query) }))
    // It looks up one row by another, which ClickHouse does not support.
    .filter(
      ({ query }) =>
        !/\blateral\b|\bexists \(|\bbool_or\(|etl\.refused_transfers|ton\.jetton_movements|etl\.transfers/.test(
          query,
        ),
    );
  return [
    (await readFile(join(packageRoot, 'tools', 'docs', 'clickhouse.sql'), 'utf8')).trimEnd(),
    ...tables.map((table) =>
      tableView(`ton.${table.name}`, `deltaLakeLocal('${LAKE}/${table.name}')`, table),
    ),
    ...views.map(({ name, query }) => `create or replace view ${name} as\n${query};`),
    'use ton;\n',
  ].join('\n\n');
}
