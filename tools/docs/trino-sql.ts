import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { loadTables } from '../../src/db/load-tables.ts';
import { describeTable, type TableDescription } from '../../src/db/read/table-description.ts';
import { viewsIn } from '../../src/lake/sql/to-duck.ts';
import { packageRoot } from '../../src/package.ts';
import { toTrino } from './to-trino.ts';

/** Here they are made of the days of parts. */
const OWN: ReadonlySet<string> = new Set(['ton.days', 'etl.open_days']);

/** Trino 476 has no exact median, and takes no sum without groups that looks up another row. */
const REFUSED: ReadonlySet<string> = new Set([
  'etl.open_message_delays',
  'etl.open_daily_activity',
  'etl.open_active_wallets',
  'etl.open_fees_by_part',
  'etl.open_dex_volume',
  'ton.account_ledger',
]);

/**
 * Statements that make Trino a reader of a lake by a catalog `delta`: its tables by their logs, in the schema `lake`, and in
 * the schema `ton` what analysts have in Postgres, from the same definitions. Apart from each other by empty lines, so that
 * one whose table the lake lacks can be left out.
 */
export async function trinoSql(): Promise<string> {
  const page = await readFile(join(packageRoot, 'migrations', 'analyst.sql'), 'utf8');
  const tables = (await loadTables()).map(describeTable).filter(({ schema }) => schema === 'ton');
  const views = viewsIn(page).filter(({ name }) => !OWN.has(name) && !REFUSED.has(name));
  const reports = views.flatMap(({ name }) => /^etl\.open_(.*)$/.exec(name)?.[1] ?? []);
  return [
    `-- A lake for Trino, for a catalog delta of the connector delta_lake whose local.location has it in the folder lake.
create schema if not exists delta.lake;`,
    'create schema if not exists delta.ton;',
    ...tables.flatMap(tableStatements),
    `create or replace view delta.ton.days as
select day, cast(day as timestamp) at time zone 'UTC' as starts, cast(day + interval '1' day as timestamp) at time zone 'UTC' as ends from (select distinct day from delta.ton.blocks);`,
    `create or replace view delta.ton.open_days as
select r.relation, d.day, d.starts, d.ends from delta.ton.days d cross join (values ${reports.map((name) => `'${name}'`).join(', ')}) as r (relation);`,
    ...views.map(
      ({ name, query }) => `create or replace view ${placed(name)} as\n${placed(toTrino(query))};`,
    ),
  ]
    .join('\n\n')
    .concat('\n');
}

const placed = (text: string): string =>
  text
    .replaceAll(/\betl\.open_days\b/g, 'delta.ton.open_days')
    .replaceAll(/\betl\.open_/g, 'delta.ton.')
    .replaceAll(/(?<![\w.])ton\.(?=\w)/g, 'delta.ton.');

/** Of a list only its newest snapshot counts. */
function tableStatements({ name, partitioned }: TableDescription): string[] {
  const from = `delta.lake.${name}`;
  const newest = partitioned ? '' : ` where day = (select max(day) from ${from})`;
  return [
    `call delta.system.register_table(schema_name => 'lake', table_name => '${name}', table_location => 'local:///lake/${name}');`,
    `create or replace view delta.ton.${name} as select * from ${from}${newest};`,
  ];
}
