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
 * support and those that need them.
 */
export async function definitionsBut(refused: ReadonlySet<string>) {
  const page = await readFile(join(packageRoot, 'migrations', 'analyst.sql'), 'utf8');
  const lacking = new Set(refused);
  const views = viewsIn(page).flatMap(({ name, query }) => {
    const needed = [...query.matchAll(/\b(?:ton|etl)\.\w+/g)].map(([found]) => found);
    if (needed.some((one) => lacking.has(one))) lacking.add(name);
    return lacking.has(name) || OWN.has(name)
      ? []
      : { name, query: withBodies(page, query.replace(OF_PEOPLE, '')) };
  });
  return {
    tables: (await loadTables()).map(describeTable).filter(({ schema }) => schema === 'ton'),
    views,
  };
}

/** Replaces calls of the page's functions that are one expression, for engines that lack them. */
function withBodies(page: string, query: string): string {
  const functions = page.matchAll(
    /^create or replace function (etl\.\w+)\((.*)\) returns text\nlanguage sql immutable parallel safe\nreturn ([\s\S]*?);$/gm,
  );
  return [...functions].reduce((text, [, name = '', parameters = '', body = '']) => {
    const names = parameters.split(', ').map((parameter) => parameter.replace(/ .*/, ''));
    return text.replaceAll(new RegExp(`${name}\\(([^()]*)\\)`, 'g'), (_, list: string) => {
      const given = list.split(', ');
      return body
        .replaceAll(/^ *--.*\n/gm, '')
        .replaceAll(/\n */g, ' ')
        .replaceAll(/'[^']*'|\w+/g, (word) => given[names.indexOf(word)] ?? word);
    });
  }, query);
}

/** A view of a table that an engine reads `from`. For a list, only its newest snapshot counts. */
export function tableView(name: string, from: string, { partitioned }: TableDescription): string {
  const newest = partitioned ? '' : ` where day = (select max(day) from ${from})`;
  return `create or replace view ${name} as select * from ${from}${newest};`;
}
