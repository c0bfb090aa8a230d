import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { loadTables } from '../../src/db/load-tables.ts';
import { describeTable, type TableDescription } from '../../src/db/read/table-description.ts';
import { viewsIn } from '../../src/lake/sql/to-duck.ts';
import { packageRoot } from '../../src/package.ts';
import { toClickHouse } from './to-clickhouse.ts';

/** Where a lake is in the page, for the reader to replace. */
const LAKE = '/data/lake';

/** They name days, of which each report by day has one as its parameter here. */
const OWN: ReadonlySet<string> = new Set(['ton.days', 'etl.open_days']);

/**
 * Statements that make ClickHouse a reader of a lake: its tables by their logs, and views that analysts have in Postgres,
 * from the same definitions. Apart from each other by empty lines, so that one whose table the lake lacks can be left out.
 */
export async function clickHouseSql(): Promise<string> {
  const read = (...path: string[]) => readFile(join(packageRoot, ...path), 'utf8');
  const tables = (await loadTables()).map(describeTable).filter(({ schema }) => schema === 'ton');
  const views = viewsIn(await read('migrations', 'analyst.sql'))
    .filter(({ name }) => !OWN.has(name))
    .map(({ name, query }) => ({ name: name.replace('etl.open_', 'ton.'), query: toClickHouse(query) }))
    // It looks up one row by another, for which ClickHouse has no words.
    .filter(({ query }) => !/\blateral\b/.test(query));
  return [
    (await read('tools', 'docs', 'clickhouse.sql')).trimEnd(),
    ...tables.map(tableView),
    ...views.map(({ name, query }) => `create or replace view ${name} as\n${query};`),
    'use ton;\n',
  ].join('\n\n');
}

/** Of a list only its newest snapshot counts. */
function tableView({ name, partitioned }: TableDescription): string {
  const from = `deltaLakeLocal('${LAKE}/${name}')`;
  const newest = partitioned ? '' : ` where day = (select max(day) from ${from})`;
  return `create or replace view ton.${name} as select * from ${from}${newest};`;
}
