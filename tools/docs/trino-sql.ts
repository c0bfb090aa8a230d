import type { TableDescription } from '../../src/read/table-rows.ts';
import { definitionsBut, tableView } from './definitions.ts';
import { toTrino } from './to-trino.ts';

/** Trino 476 has no exact median, and accepts no sum without groups that looks up another row. */
const REFUSED: ReadonlySet<string> = new Set([
  'etl.open_message_delays',
  'etl.open_daily_activity',
  'etl.open_active_wallets',
  'etl.open_fees_by_part',
  'etl.open_dex_volume',
  'ton.account_ledger',
]);

/**
 * Statements that let Trino read a lake through a catalog `delta`. The schema `lake` has its tables, through their
 * logs; the schema `ton` has the views of analysts, from the same definitions as in Postgres. Empty lines separate
 * the statements, so that one whose table the lake lacks can be left out.
 */
export async function trinoSql(): Promise<string> {
  const { tables, views } = await definitionsBut(REFUSED);
  const reports = views.flatMap(({ name }) => /^etl\.open_(.*)$/.exec(name)?.[1] ?? []);
  return [
    `-- A lake for Trino, for a catalog delta of the connector delta_lake whose local.location has it in the folder lake.
create schema if not exists delta.lake;`,
    'create schema if not exists delta.ton;',
    'create schema if not exists delta.etl;',
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
    .replaceAll(/(?<![\w.])(?=(?:ton|etl)\.\w)/g, 'delta.');

function tableStatements(table: TableDescription): string[] {
  const { name } = table;
  return [
    `call delta.system.register_table(schema_name => 'lake', table_name => '${name}', table_location => 'local:///lake/${name}');`,
    tableView(`delta.ton.${name}`, `delta.lake.${name}`, table),
  ];
}
