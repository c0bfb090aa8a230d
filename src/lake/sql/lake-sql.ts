import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { literal } from '../../db/migrate/literal.ts';
import type { ExportedTable } from '../../export/tables-of.ts';
import { packageRoot } from '../../package.ts';
import { columnType, EXACT } from '../column-type.ts';
import { toDuck, viewsIn } from './to-duck.ts';

/**
 * Statements that make a session of DuckDB a reader of a lake, whose place the variable `lake` holds: each table as a view
 * of the parts that its log names, and the views and functions that analysts have in Postgres, from the same definitions.
 */
export async function lakeSql(tables: readonly ExportedTable[]): Promise<string> {
  const read = (name: string) => readFile(join(packageRoot, 'migrations', name), 'utf8');
  const [start, end] = [await read('duckdb.sql'), await read('duckdb-end.sql')];
  const views = viewsIn(await read('analyst.sql')).filter(({ name }) => !OWN.has(name));
  const names = new Set(tables.map(({ facts }) => facts.name));
  const reports = views.flatMap(({ name }) => /^etl\.open_(.*)$/.exec(name)?.[1] ?? []);
  const streams = tables.filter(({ facts }) => facts.partitioned).map(({ facts }) => literal(facts.name));
  return [
    `set variable streams = [${streams.join(', ')}];`,
    start.trimEnd(),
    ...tables.map(tableView),
    openDays(reports),
    ...views.map(({ name, query }) => `create or replace view ${name} as\n${toDuck(query, names)};`),
    ...reports.map(
      (name) => `create or replace view ton.${name} as select *, false as certified from etl.open_${name};`,
    ),
    end.trimEnd(),
    // Of a table without parts nobody knows anything: from here on no rows would be a wrong answer.
    tables
      .map(
        ({ facts: { name } }) =>
          `set variable ton_${name} = nullif(getvariable('ton_${name}'), getvariable('no_rows'));\n`,
      )
      .join(''),
  ].join('\n\n');
}

/** Here they are made of the days of parts. */
const OWN: ReadonlySet<string> = new Set(['ton.days', 'etl.open_days']);

/** Its columns are those that this program knows: one that a part lacks is null. */
function tableView({ facts: { name, columns }, dataset }: ExportedTable): string {
  const nulls = columns.map((column) => `null::${columnType(column).duck} as "${column.name}"`);
  const lacking = `the lake has no part of ${name}, as its dataset was not covered, or not exported: run toncenter-etl backfill --only ${dataset} with --from and --to, and export again`;
  return `set variable ton_${name} = etl.query_of(${literal(name)});
create or replace view ton.${name} as
select ${nulls.join(', ')}, null::varchar as ${EXACT}, null::date as day where false
union all by name select * from query(coalesce(getvariable('ton_${name}'), error(${literal(lacking)})));`;
}

function openDays(reports: readonly string[]): string {
  const names = reports.map((name) => `(${literal(name)})`).join(', ');
  return `create or replace view etl.open_days as
select r.relation, d.day, d.starts, d.ends from ton.days d, (values ${names}) r (relation);`;
}
