import { resolve, dirname, join, relative, sep } from 'node:path';
import { randomUUID } from 'node:crypto';
import { copyFile, link, readdir, readFile, rename, rm, stat, writeFile, realpath } from 'node:fs/promises';
import { isBucket, proxyOfProcess } from '../settings/config.ts';
import { openEngine, type Engine } from './engine.ts';
import { tablesIn } from './delta-log.ts';
import {
  absent,
  type Lake,
  PARTIAL,
  type LakeStore,
  type Listed,
  s3Store,
  failAt,
  openClient,
} from './lake.ts';
import { codeOf, LakeError, messageOf, UsageError, DatabaseError, EtlError } from '../errors.ts';
import { ifThere, makeFolder } from '../files.ts';
import { loadDatasets } from '../dataset/load-jobs.ts';
import type { TextResult } from '../postgres/sql.ts';
import { literal } from '../tables/describe.ts';
import { tablesOf, type ExportedTable } from '../export/write-rows.ts';
import { packageRoot } from '../package.ts';
import { columnType, EXACT } from './copied-rows.ts';

/** A directory or `s3://bucket/prefix`. The signal ends requests to a bucket. */
type Place = string | { readonly location: string; readonly signal: AbortSignal | undefined };

/** Opens the lake at a place, runs `work` with it, and closes it. */
export async function withLake<T>(place: Place, work: (lake: Lake) => Promise<T>): Promise<T> {
  const { location, signal } = typeof place === 'string' ? { location: place, signal: undefined } : place;
  const isRemote = isBucket(location);
  const engine = await openEngine();
  try {
    const store = isRemote
      ? await s3Store(location, (name) => engine.scratch(name), signal)
      : directoryStore(resolve(location));
    return await work({ store, engine });
  } finally {
    await engine.close();
  }
}

/**
 * Like `withLake`, for work that only reads: the lake must exist.
 * @throws UsageError if it does not, for example because its name is misspelt
 */
export function withExistingLake<T>(place: Place, work: (lake: Lake) => Promise<T>): Promise<T> {
  return withLake(place, async (lake) => {
    if ((await tablesIn(lake.store)).length === 0) absent(lake.store.label);
    return work(lake);
  });
}

export function directoryStore(directory: string): LakeStore {
  const at = (name: string) => join(directory, ...name.split('/'));
  /** Writes the complete contents to a partial file first. */
  const beside = async (name: string, make: (path: string) => Promise<void>): Promise<string> => {
    const folder = dirname(at(name));
    await makeFolder(folder);
    const path = join(folder, `${PARTIAL}${randomUUID()}`);
    await make(path).catch(unwritable);
    return path;
  };
  return {
    label: directory,
    list: (folder) => list(directory, at(folder)),
    folders: () => foldersOf(directory),
    read: (name) => readFile(at(name), 'utf8'),
    async create(name, text) {
      const path = await beside(name, (partial) => writeFile(partial, text, { flush: true }));
      try {
        // Unlike rename, it fails if the file exists.
        await link(path, at(name));
        return true;
      } catch (error) {
        if (codeOf(error) === 'EEXIST') return false;
        return unwritable(error);
      } finally {
        await rm(path);
      }
    },
    async put(name, path) {
      const partial = await beside(name, (copy) => copyFile(path, copy));
      await rename(partial, at(name)).catch(unwritable);
    },
    async fetch(name) {
      const found = await ifThere(stat(at(name))).catch(unreadable);
      return found && { path: at(name), release: () => Promise.resolve() };
    },
    remove: (name) => rm(at(name), { force: true }).catch(unwritable),
  };
}

async function foldersOf(directory: string): Promise<string[]> {
  const entries = await readdir(directory, { withFileTypes: true }).catch(unlessAbsent);
  return entries.flatMap((entry) => (entry.isDirectory() ? [entry.name] : [])).sort();
}

async function list(directory: string, folder: string): Promise<Listed[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(unlessAbsent);
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const listed = await Promise.all(
    files.map(async (path): Promise<Listed[]> => {
      // Another process may have removed it.
      const found = await ifThere(stat(path)).catch(unreadable);
      const name = relative(directory, path).split(sep).join('/');
      return found === undefined ? [] : [{ name, changedAt: found.mtimeMs / 1000 }];
    }),
  );
  return listed.flat().sort((a, b) => (a.name < b.name ? -1 : 1));
}

function unlessAbsent(error: unknown): never[] {
  const code = codeOf(error);
  if (code === 'ENOENT') return [];
  if (code === 'ENOTDIR')
    throw new UsageError(`${messageOf(error)}: a lake is a directory`, { cause: error });
  return unreadable(error);
}

/** The system's message names the path. */
export function unreadable(cause: unknown): never {
  throw new LakeError(`the lake cannot be read: ${messageOf(cause)}`, {
    hint: 'Let this user read the directory, or name another one.',
    cause,
  });
}

/** The system's message names the path. */
function unwritable(cause: unknown): never {
  throw new LakeError(`the lake cannot be written: ${messageOf(cause)}`, {
    hint: 'Free some space, and let this user write to the directory.',
    cause,
  });
}

/** The statements of docs/analyst/lake.sql, for this version's tables. */
export async function lakeSqlOfTables(): Promise<string> {
  const available = await loadDatasets();
  return lakeSql(tablesOf(available, available));
}

/**
 * Lets an engine read the lake at a location, a directory or a bucket. Statements then find the tables, views and
 * functions of a database, with the parts that the lake has now. The engine opens no other files.
 */
export async function openLakeReader(
  engine: Engine,
  location: string,
): Promise<(statement: string, signal?: AbortSignal) => Promise<TextResult>> {
  const isRemote = isBucket(location);
  if (isRemote) {
    const bucket = await bucketSql(location).catch((cause: unknown) => failAt(location, cause));
    await engine.ask(bucket).catch(refuseBucket);
  }
  // DuckDB compares file names without symbolic links.
  const real = isRemote
    ? location
    : ((await ifThere(realpath(location)).catch(unreadable)) ?? absent(location));
  // Without a trailing slash, because file names are appended.
  const lake = literal(real.replace(/(?<=.)\/+$/, ''));
  await engine.ask(`set variable lake = ${lake};\n${await lakeSqlOfTables()}`).catch((cause: unknown) => {
    const message = messageOf(cause);
    if (message.includes('No files found')) absent(location);
    throw new UsageError(message, { cause });
  });
  const { rows } = await engine.ask(
    `select getvariable('lake') || '/' || "table" || '/' || path from etl.parts where not regexp_matches(path, '(^|[/\\\\])\\.\\.([/\\\\]|$)')`,
  );
  await engine.confine(rows.flatMap(([path]) => path ?? []));
  return (statement, signal) => engine.read(statement, signal).catch(refuseStatement);
}

function refuseBucket(cause: unknown): never {
  throw new UsageError('DuckDB cannot read buckets: its extension `httpfs` is not installed', {
    cause,
    hint: 'DuckDB downloads it once, from extensions.duckdb.org. If that host cannot be reached, copy the lake into a directory.',
  });
}

/** Fails like Postgres does, so that a script need not know which of the two it asks. */
function refuseStatement(cause: unknown): never {
  if (cause instanceof EtlError) throw cause;
  const message = messageOf(cause).replace(/^Invalid Input Error: (?=the lake has no part of )/, '');
  const isGone = /No such file|No files found|404/.test(message);
  const hint = 'Parts of the lake were replaced after this session began: start a new session.';
  throw new DatabaseError(message, { cause, ...(isGone ? { hint } : {}) });
}

/**
 * Statements that let DuckDB read buckets, by its extension `httpfs`, with the keys, region, endpoint and proxy of the
 * vendor's own client. Later statements cannot read a password or key: DuckDB shows settings in full, and of a secret
 * it hides only the keys.
 * @throws UsageError if the proxy asks for a password
 */
export async function bucketSql(location: string): Promise<string> {
  const { client, address, proxy } = await openClient();
  if (proxy !== undefined && proxy.password !== '')
    throw new UsageError(`\`sql\` cannot read a bucket through ${proxy.host}, a proxy with a password`, {
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
    `scope ${literal(location)}`,
  ];
  return [
    ...through(proxyOfProcess('http://extensions.duckdb.org')),
    'install httpfs',
    'load httpfs',
    ...through(proxy),
    // httpfs has taken these from the environment.
    ...['access_key_id', 'secret_access_key', 'session_token'].map((name) => `reset s3_${name}`),
    // Parts never change, so fetched ones may be cached.
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

/** Replacements of SQL that differs between Postgres and another engine, in order. */
export type Replacements = readonly (readonly [RegExp, string])[];

/** SQL that only Postgres needs. */
export const POSTGRES_ONLY: Replacements = [
  // These only steer the planner of Postgres, or limit the partitions that it reads.
  [/ offset 0\b/g, ''],
  [/\bfull join withdrawals\b/g, 'left join withdrawals'],
  [/ #> '\{\}'/g, ''],
  [/ collate "C"/g, ''],
  // Each engine has numbers of its own.
  [/::numeric\(38,\d+\)/g, ''],
  // Rows that all say the same: Postgres stops at the first one.
  [/\bselect r\.source from ([^;]*?) limit 1\)/g, 'select max(r.source) from $1)'],
  [/\s+and (\w\.(?:utime|refused_at)) >= (\w)\.utime and \1 < \2\.utime \+ interval '1 day'/g, ''],
];

export function applyReplacements(query: string, words: Replacements): string {
  return words.reduce((text, [from, to]) => text.replace(from, to), query);
}

/** A view, or a function that looks something up in tables: an amount by its parameters. */
const DEFINITION =
  /^create or replace (?:view (\w+\.\w+) as\n([\s\S]*?);|function (\w+\.\w+)\((.*)\) returns numeric\nlanguage sql stable parallel safe.* begin atomic\n([\s\S]*?);\nend;)$/gm;

interface DuckView {
  /** Includes the schema. */
  readonly name: string;
  readonly query: string;
}

export function viewsIn(sql: string): DuckView[] {
  return [...sql.matchAll(DEFINITION)].flatMap(([, name, query = '']) =>
    name === undefined ? [] : [{ name, query }],
  );
}

/** SQL that differs between Postgres and DuckDB. */
const DUCKDB_REPLACEMENTS: Replacements = [
  ...POSTGRES_ONLY,
  // Without decimal places, as amounts are. DuckDB's default has 18 digits, three of them after the point.
  [/::numeric\b/g, '::decimal(38,0)'],
];

/** Conditions on the seconds of one day, which DuckDB can replace by the day's column. */
const OF_DAY = /\b(\w)\.utime >= d\.starts and \1\.utime < d\.ends\b/g;

/** Translates a query to DuckDB. `tables` have a column that names the day, and thereby the folder. */
function toDuck(query: string, tables: ReadonlySet<string>): string {
  const text = applyReplacements(query, DUCKDB_REPLACEMENTS).replace(
    /(?<=\bleft join )ton\.(\w+)/g,
    (whole, name: string) => (tables.has(name) ? `etl.any_${name}` : whole),
  );
  const read = [...text.matchAll(/\b(?:from|join) ((?:ton|etl)\.\w+) \w\b/g)].map(([, name = '']) => name);
  const isOfTables = read.every((name) => name === 'etl.open_days' || tables.has(name.replace('ton.', '')));
  return text.replace(OF_DAY, isOfTables ? '$1.day = d.day' : '$1.utime::date = d.day');
}

/**
 * Statements that let a DuckDB session read a lake, whose location is in the variable `lake`. Each table is a view of the
 * parts that its log names. The views and functions for analysts come from the same definitions as in Postgres.
 */
async function lakeSql(tables: readonly ExportedTable[]): Promise<string> {
  const read = (name: string) => readFile(join(packageRoot, 'migrations', name), 'utf8');
  const [start, end] = [await read('duckdb.sql'), await read('duckdb-end.sql')];
  const definitions = `${await read('analyst.sql')}\n${await read('curated.sql')}`;
  const names = new Set(tables.map(({ facts }) => facts.name));
  const reports = viewsIn(definitions).flatMap(({ name }) => /^etl\.open_(.*)$/.exec(name)?.[1] ?? []);
  const streams = tables.filter(({ facts }) => facts.partitioned).map(({ facts }) => literal(facts.name));
  return [
    `set variable streams = [${streams.join(', ')}];`,
    start.trimEnd(),
    ...tables.map(tableView),
    openDays(reports),
    ...definitionsIn(definitions, names),
    end.trimEnd(),
    // Nothing is known about a table without parts: from here on, a query of it must fail instead of returning no rows.
    tables
      .map(
        ({ facts: { name } }) =>
          `set variable ton_${name} = nullif(getvariable('ton_${name}'), getvariable('no_rows'));\n`,
      )
      .join(''),
  ].join('\n\n');
}

/** The views of a text, and its functions as macros, in their order. */
function definitionsIn(sql: string, tables: ReadonlySet<string>): string[] {
  return [...sql.matchAll(DEFINITION)].flatMap(
    ([, view, query = '', macro = '', parameters = '', body = '']) => {
      if (view === undefined) {
        const names = parameters.split(', ').map((one) => one.replace(/ .*/, ''));
        return [`create or replace macro ${macro}(${names.join(', ')}) as (\n${toDuck(body, tables)});`];
      }
      return OWN.has(view)
        ? []
        : [`create or replace view ${view} as\n${toDuck(query, tables)};${reportOver(view)}`];
    },
  );
}

/** The report over a view of open days: in a lake all days are open. */
function reportOver(name: string): string {
  const report = /^etl\.open_(.*)$/.exec(name)?.[1];
  if (report === undefined) return '';
  return `\n\ncreate or replace view ton.${report} as select *, false as certified from ${name};`;
}

/** In a lake, these are made from the days of its parts, none of which is kept. */
const OWN: ReadonlySet<string> = new Set(['ton.days', 'etl.open_days', 'etl.certified_changes']);

/** Its columns are those that this version knows: a column that a part lacks is null. */
function tableView({ facts: { name, columns }, dataset }: ExportedTable): string {
  const nulls = columns.map((column) => `null::${columnType(column).duck} as "${column.name}"`);
  const lacking = `the lake has no part of ${name}, because its dataset was not covered or not exported: run toncenter-etl backfill --only ${dataset} with --from and --to, and export again`;
  return `set variable ton_${name} = etl.query_of(${literal(name)});
create or replace view ton.${name} as
select ${nulls.join(', ')}, null::varchar as ${EXACT}, null::date as day where false
union all by name select * from query(coalesce(getvariable('ton_${name}'), error(${literal(lacking)})));
-- Used by left joins for names or decimals, which are null if they are not known.
create or replace view etl.any_${name} as
select ${nulls.join(', ')}, null::varchar as ${EXACT}, null::date as day where false
union all by name select * from query(coalesce(getvariable('ton_${name}'), getvariable('no_rows')));`;
}

function openDays(reports: readonly string[]): string {
  const names = reports.map((name) => `(${literal(name)})`).join(', ');
  return `create or replace view etl.open_days as
select r.relation, d.day, d.starts, d.ends from ton.days d, (values ${names}) r (relation);`;
}
