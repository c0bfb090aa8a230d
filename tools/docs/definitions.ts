import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { loadTables } from '../../src/postgres/load-tables.ts';
import { describeTable, type TableDescription } from '../../src/read/table-rows.ts';
import { viewsIn } from '../../src/lake/open-lake.ts';
import { packageRoot } from '../../src/package.ts';

/** For a lake they are derived from the days of parts. */
const OWN: ReadonlySet<string> = new Set(['ton.days', 'etl.open_days']);

/** Facts that people add, which no lake has. */
const OF_PEOPLE = /\nunion\nselect .* from etl\.ton_proxies p/;

/**
 * The tables of a lake, and the views that analysts have in Postgres, without those that an engine does not
 * support.
 */
export async function definitionsBut(lacking: ReadonlySet<string>) {
  const page = await readFile(join(packageRoot, 'migrations', 'analyst.sql'), 'utf8');
  return {
    tables: (await loadTables()).map(describeTable).filter(({ schema }) => schema === 'ton'),
    views: viewsIn(page)
      .filter(({ name }) => !OWN.has(name) && !lacking.has(name))
      .map(({ name, query }) => ({ name, query: query.replace(OF_PEOPLE, '') })),
  };
}

/** A view of a table that an engine reads `from`. For a list, only its newest snapshot counts. */
export function tableView(name: string, from: string, { partitioned }: TableDescription): string {
  const newest = partitioned ? '' : ` where day = (select max(day) from ${from})`;
  return `create or replace view ${name} as select * from ${from}${newest};`;
}
