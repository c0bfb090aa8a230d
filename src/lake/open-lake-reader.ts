import { realpath, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { loadDatasets } from '../dataset/load-jobs.ts';
import type { TextResult } from '../postgres/as-text.ts';
import { literal } from '../tables/literal.ts';
import { DatabaseError, EtlError, messageOf, UsageError } from '../errors.ts';
import { tablesOf, type ExportedTable } from '../export/tables-of.ts';
import type { Engine } from './engine.ts';
import { absent } from './lake.ts';
import { failAt, openClient } from './s3-store.ts';
import { isBucket, proxyOfProcess } from '../settings/config.ts';
import { packageRoot } from '../package.ts';
import { columnType, EXACT } from './column-type.ts';

/** The statements of docs/analyst/lake.sql, for this version's tables. */
export async function lakeSqlOfTables(): Promise<string> {
  const available = await loadDatasets();
  return lakeSql(tablesOf(available, available));
}

/**
 * Makes an engine a reader of the lake at a place, a directory or a bucket: what it is asked then finds the tables, views
 * and functions that a database has, with the parts that the lake has now. It opens nothing but the files of these.
 */
export async function openLakeReader(
  engine: Engine,
  place: string,
): Promise<(statement: string, signal?: AbortSignal) => Promise<TextResult>> {
  const isRemote = isBucket(place);
  if (isRemote) {
    const bucket = await bucketSql(place).catch((cause: unknown) => failAt(place, cause));
    await engine.ask(bucket).catch(refuseBucket);
  }
  // DuckDB compares names of files without symbolic links.
  const real = isRemote ? place : await realpath(place).catch(() => absent(place));
  // As addresses of files are put together from it, without a slash at its end.
  const lake = literal(real.replace(/(?<=.)\/+$/, ''));
  await engine.ask(`set variable lake = ${lake};\n${await lakeSqlOfTables()}`).catch((cause: unknown) => {
    const message = messageOf(cause);
    if (message.includes('No files found')) absent(place);
    throw new UsageError(message, { cause });
  });
  const { rows } = await engine.ask(
    `select getvariable('lake') || '/' || "table" || '/' || path from etl.parts where not regexp_matches(path, '(^|[/\\\\])\\.\\.([/\\\\]|$)')`,
  );
  await engine.confine(rows.flatMap(([path]) => path ?? []));
  return (statement, signal) => engine.read(statement, signal).catch(refuseStatement);
}

function refuseBucket(cause: unknown): never {
  throw new UsageError('DuckDB has no extension `httpfs` here, by which it reads buckets', {
    cause,
    hint: 'It fetches that from extensions.duckdb.org, once. Where this cannot be reached, copy the lake into a directory.',
  });
}

/** As Postgres' refusals are: a script need not know which of the two it asks. */
function refuseStatement(cause: unknown): never {
  if (cause instanceof EtlError) throw cause;
  const message = messageOf(cause).replace(/^Invalid Input Error: (?=the lake has no part of )/, '');
  const isGone = /No such file|No files found|404/.test(message);
  const hint = 'Parts of the lake have changed places since this session began: begin another one.';
  throw new DatabaseError(message, { cause, ...(isGone ? { hint } : {}) });
}

/**
 * Statements after which DuckDB reads buckets, by its extension `httpfs`, with what the vendor's own client takes: keys,
 * region, endpoint and proxy. No statement that follows can read a password or key of these: DuckDB shows settings whole,
 * and of a secret it hides only the keys.
 * @throws UsageError if the proxy asks for a password
 */
export async function bucketSql(place: string): Promise<string> {
  const { client, address, proxy } = await openClient();
  if (proxy !== undefined && proxy.password !== '')
    throw new UsageError(`\`sql\` reads no bucket through ${proxy.host}, a proxy with a password`, {
      hint: 'DuckDB would show the password to each statement. Name the host in NO_PROXY, or copy the lake into a directory.',
    });
  const { accessKeyId, secretAccessKey, sessionToken } = await client.config.credentials();
  const { protocol, hostname, port } = address;
  const words = [
    'type s3',
    `key_id ${literal(accessKeyId)}`,
    `secret ${literal(secretAccessKey)}`,
    ...(sessionToken === undefined ? [] : [`session_token ${literal(sessionToken)}`]),
    `region ${literal(await client.config.region())}`,
    `endpoint ${literal(port === undefined ? hostname : `${hostname}:${port}`)}`,
    `use_ssl ${String(protocol === 'https:')}`,
    `url_style 'path'`,
    `scope ${literal(place)}`,
  ];
  return [
    ...through(proxyOfProcess('http://extensions.duckdb.org')),
    'install httpfs',
    'load httpfs',
    ...through(proxy),
    // It has taken these from the environment.
    ...['access_key_id', 'secret_access_key', 'session_token'].map((name) => `reset s3_${name}`),
    // Parts never change: what was fetched of them may be kept.
    'set enable_external_file_cache = true',
    `create or replace secret lake (${words.join(', ')})`,
  ].join('; ');
}

function through(proxy: URL | undefined): string[] {
  const { host = '', username = '', password = '' } = proxy ?? {};
  return [
    `set http_proxy = ${literal(host)}`,
    `set http_proxy_username = ${literal(decodeURIComponent(username))}`,
    `set http_proxy_password = ${literal(decodeURIComponent(password))}`,
  ];
}

/** What an engine says otherwise than Postgres, in the order in which it is replaced. */
export type Words = readonly (readonly [RegExp, string])[];

/** What no other engine says. */
export const OF_POSTGRES_ALONE: Words = [
  // Only there to keep the planner of Postgres from another way, or within few partitions.
  [/ offset 0\b/g, ''],
  [/ collate "C"/g, ''],
  [/\s+and (\w)\.utime >= (\w)\.utime and \1\.utime < \2\.utime \+ interval '1 day'/g, ''],
];

/** A query in other words. */
export function inWords(query: string, words: Words): string {
  return words.reduce((said, [from, to]) => said.replace(from, to), query);
}

/** A view as the SQL of Postgres has it. */
interface DuckView {
  /** With its schema. */
  readonly name: string;
  readonly query: string;
}

/** The views of a file of SQL, in their order. */
export function viewsIn(sql: string): DuckView[] {
  const found = sql.matchAll(/^create or replace view (\w+\.\w+) as\n([\s\S]*?);$/gm);
  return [...found].map(([, name = '', query = '']) => ({ name, query }));
}

/** What Postgres says otherwise than DuckDB. */
const WORDS: Words = [
  ...OF_POSTGRES_ALONE,
  // Without digits behind the point, as amounts are; bare it is of 18 digits, three of them there.
  [/::numeric\b/g, '::decimal(38,0)'],
];

/** All of a day: the places of its name are what is looked up day by day. */
const OF_DAY = /\b(\w)\.utime >= d\.starts and \1\.utime < d\.ends\b/g;

/** A query of Postgres in the words of DuckDB. `tables` have a column that names the day, and with it the folder. */
function toDuck(query: string, tables: ReadonlySet<string>): string {
  const text = inWords(query, WORDS).replace(/(?<=\bleft join )ton\.(\w+)/g, (whole, name: string) =>
    tables.has(name) ? `etl.any_${name}` : whole,
  );
  const read = [...text.matchAll(/\b(?:from|join) ((?:ton|etl)\.\w+) \w\b/g)].map(([, name = '']) => name);
  const isOfTables = read.every((name) => name === 'etl.open_days' || tables.has(name.replace('ton.', '')));
  return text.replace(OF_DAY, isOfTables ? '$1.day = d.day' : '$1.utime::date = d.day');
}

/**
 * Statements that make a session of DuckDB a reader of a lake, whose place the variable `lake` holds: each table as a view
 * of the parts that its log names, and the views and functions that analysts have in Postgres, from the same definitions.
 */
async function lakeSql(tables: readonly ExportedTable[]): Promise<string> {
  const read = (name: string) => readFile(join(packageRoot, 'migrations', name), 'utf8');
  const [start, end] = [await read('duckdb.sql'), await read('duckdb-end.sql')];
  const definitions = `${await read('analyst.sql')}\n${await read('curated.sql')}`;
  const views = viewsIn(definitions).filter(({ name }) => !OWN.has(name));
  const names = new Set(tables.map(({ facts }) => facts.name));
  const reports = views.flatMap(({ name }) => /^etl\.open_(.*)$/.exec(name)?.[1] ?? []);
  const streams = tables.filter(({ facts }) => facts.partitioned).map(({ facts }) => literal(facts.name));
  return [
    `set variable streams = [${streams.join(', ')}];`,
    start.trimEnd(),
    ...tables.map(tableView),
    openDays(reports),
    ...views.map(
      ({ name, query }) => `create or replace view ${name} as\n${toDuck(query, names)};${reportOver(name)}`,
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

/** The report that a view over open days makes: here all days are open. */
function reportOver(name: string): string {
  const report = /^etl\.open_(.*)$/.exec(name)?.[1];
  if (report === undefined) return '';
  return `\n\ncreate or replace view ton.${report} as select *, false as certified from ${name};`;
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
union all by name select * from query(coalesce(getvariable('ton_${name}'), error(${literal(lacking)})));
-- What others only join for a name or for decimals is null where nobody knows it.
create or replace view etl.any_${name} as
select ${nulls.join(', ')}, null::varchar as ${EXACT}, null::date as day where false
union all by name select * from query(coalesce(getvariable('ton_${name}'), getvariable('no_rows')));`;
}

function openDays(reports: readonly string[]): string {
  const names = reports.map((name) => `(${literal(name)})`).join(', ');
  return `create or replace view etl.open_days as
select r.relation, d.day, d.starts, d.ends from ton.days d, (values ${names}) r (relation);`;
}
