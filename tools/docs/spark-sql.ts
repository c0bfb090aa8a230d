import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { loadTables } from '../../src/db/load-tables.ts';
import { describeTable, type TableDescription } from '../../src/db/read/table-description.ts';
import { viewsIn } from '../../src/lake/sql/to-duck.ts';
import { packageRoot } from '../../src/package.ts';
import { toSpark } from './to-spark.ts';

/** Here they are made of the days of parts. */
const OWN: ReadonlySet<string> = new Set(['ton.days', 'etl.open_days']);

/** Spark does not look up from within a look-up. */
const LACKING: ReadonlySet<string> = new Set(['ton.account_ledger']);

/**
 * Statements that make a session of Spark with Delta Lake a reader of the lake that the setting `lake` names: its tables by
 * their logs, and the views that analysts have in Postgres, from the same definitions. Apart from each other by empty
 * lines, so that one whose table the lake lacks can be left out.
 */
export async function sparkSql(): Promise<string> {
  const read = (...path: string[]) => readFile(join(packageRoot, ...path), 'utf8');
  const tables = (await loadTables()).map(describeTable).filter(({ schema }) => schema === 'ton');
  const views = viewsIn(await read('migrations', 'analyst.sql')).filter(
    ({ name }) => !OWN.has(name) && !LACKING.has(name),
  );
  const reports = views.flatMap(({ name }) => /^etl\.open_(.*)$/.exec(name)?.[1] ?? []);
  const names = reports.map((name) => `('${name}')`).join(', ');
  return [
    (await read('tools', 'docs', 'spark.sql')).trimEnd(),
    ...tables.map(tableView),
    `create or replace view ton.days as
select day, cast(day as timestamp) as starts, cast(day + interval 1 day as timestamp) as ends from (select distinct day from ton.blocks);`,
    `create or replace view etl.open_days as
select r.relation, d.day, d.starts, d.ends from ton.days d cross join (values ${names}) as r (relation);`,
    ...views.map(({ name, query }) => `create or replace view ${name} as\n${toSpark(query)};`),
    ...reports.map(
      (name) => `create or replace view ton.${name} as select *, false as certified from etl.open_${name};`,
    ),
    'use ton;\n',
  ].join('\n\n');
}

/** Of a list only its newest snapshot counts. */
function tableView({ name, partitioned }: TableDescription): string {
  const from = `delta.\`\${lake}/${name}\``;
  const newest = partitioned ? '' : ` where day = (select max(day) from ${from})`;
  return `create or replace view ton.${name} as select * from ${from}${newest};`;
}
