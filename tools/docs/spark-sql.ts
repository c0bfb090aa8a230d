import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { packageRoot } from '../../src/package.ts';
import { definitionsBut, tableView } from './definitions.ts';
import { toSpark } from './to-spark.ts';

/** Spark does not look up from within a look-up, or within a query that has a name. */
const LACKING: ReadonlySet<string> = new Set(['ton.account_ledger', 'etl.open_message_delays']);

/**
 * Statements that let a session of Spark with Delta Lake read the lake in the setting `lake`: its tables through
 * their logs, and the views of analysts. The definitions are the same as in Postgres. Empty lines separate the
 * statements, so that one whose table the lake lacks can be left out.
 */
export async function sparkSql(): Promise<string> {
  const { tables, views } = await definitionsBut(LACKING);
  const reports = views.flatMap(({ name }) => /^etl\.open_(.*)$/.exec(name)?.[1] ?? []);
  const names = reports.map((name) => `('${name}')`).join(', ');
  return [
    (await readFile(join(packageRoot, 'tools', 'docs', 'spark.sql'), 'utf8')).trimEnd(),
    ...tables.map((table) => tableView(`ton.${table.name}`, `delta.\`\${lake}/${table.name}\``, table)),
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
