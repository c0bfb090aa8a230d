import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { DatabaseError } from '../../src/errors.ts';
import { openEngine, type Engine } from '../../src/lake/engine.ts';
import { openLakeReader } from '../../src/lake/open-lake.ts';
import { openCrawledStore, type CrawledStore } from '../support/database/crawled-store.ts';
import { exported, logIn } from '../support/lake.ts';
import { twoDays } from '../support/two-days.ts';
import { thorough } from '../support/thorough.ts';

let store: CrawledStore;
let engine: Engine;
let directory: string;
let lake: string;
/** The first part of `blocks`. */
let part: string;
let ask: (statement: string) => Promise<{ readonly rows: readonly (readonly (string | null)[])[] }>;
let server: Server;
let url: string;
const requests: string[] = [];

beforeAll(async () => {
  store = await openCrawledStore(twoDays);
  directory = await mkdtemp(join(tmpdir(), 'toncenter-etl-confined-'));
  // The path of the lake itself may be a symbolic link.
  await mkdir(join(directory, 'real'));
  await symlink(join(directory, 'real'), join(directory, 'lake'));
  lake = join(directory, 'lake');
  const range = { from: '2026-01-31', to: '2026-02-02', only: ['blocks', 'transactions', 'traces'] };
  await exported(store.url, { ...range, out: lake, format: 'parquet' });
  part = join(directory, 'real', 'blocks', (await logIn(lake, 'blocks')).parts[0]?.path ?? '');
  await writeFile(join(directory, 'private.csv'), 'a password');
  await mkdir(join(directory, 'outside'));
  await writeFile(join(directory, 'outside', 'private.csv'), 'a password');
  await symlink(join(directory, 'private.csv'), join(lake, 'blocks', 'link.csv'));
  await symlink(join(directory, 'outside'), join(lake, 'blocks', 'up'));
  await cp(part, join(lake, 'blocks', 'other.parquet'));
  server = createServer((request, response) => {
    requests.push(request.url ?? '');
    response.end('a\n1\n');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  url = `127.0.0.1:${typeof address === 'object' ? String(address?.port) : ''}`;
  for (const name of ['HTTP_PROXY', 'http_proxy']) vi.stubEnv(name, `http://me:secretive@${url}`);
  engine = await openEngine();
  ask = await openLakeReader(engine, lake);
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await engine.close();
  server.close();
  await store.close();
  await rm(directory, { recursive: true, force: true });
});

/** `L`: the lake, `D`: the directory around it, `P`: a part that counts, `U`: a server. */
const HOSTILE = [
  `select content from read_text('D/private.csv')`,
  `select content from read_blob('D/private.csv')`,
  `select * from read_csv('D/private.csv')`,
  `select * from read_json('D/private.csv')`,
  `select * from sniff_csv('D/private.csv')`,
  `select * from 'D/private.csv'`,
  `from parquet_metadata('L/blocks/other.parquet')`,
  `select content from read_text('L/../private.csv')`,
  `select content from read_text('L/blocks/link.csv')`,
  `select content from read_text('L/blocks/up/private.csv')`,
  `select content from read_text('/etc/passwd')`,
  `select content from read_text('/proc/self/environ')`,
  `select * from glob('D/*')`,
  `select * from glob('L/blocks/up/*')`,
  `select * from query('select content from read_text(''D/private.csv'')')`,
  `select * from query_table('D/private.csv')`,
  `select * from query('select * from enable' || '_logging(storage=''stdout'')')`,
  `select * from "query" /* of text */ ('select * from enable' || '_logging(storage=''file'')')`,
  `select * from query('from duckdb_' || 'settings()')`,
  `select * from json_execute_serialized_sql(json_serialize_sql('select * from enable' || '_logging(storage=''file'')'))`,
  `from "JSON_execute_serialized_sql" /**/ (json_serialize_sql('select 1'))`,
  `pragma json_execute_serialized_sql('{}')`,
  `create macro run(t) as table from json_execute_serialized_sql(json_serialize_sql(t)); from run('select 1')`,
  `copy (select 1) to 'D/out.csv'`,
  `copy (select 1) to 'L/out.csv'`,
  `copy (select 1) to 'P' (format parquet)`,
  `explain analyze copy (select 1) to 'P' (format parquet)`,
  `explain /* */ analyze copy (select 1) to 'P' (format parquet)`,
  `explain (analyze, format json) copy (select 1) to 'P' (format parquet)`,
  `select 1; copy (select 1) to 'P' (format parquet)`,
  `prepare w as copy (select 1) to 'P' (format parquet)`,
  `copy from database memory to memory`,
  `create table t as select content from read_text('D/private.csv')`,
  `attach 'D/out.db'`,
  `attach ':memory:' as other`,
  `attach 'D/out.db' as s (type sqlite)`,
  `attach 'host=127.0.0.1' as p (type postgres)`,
  `select * from postgres_scan('host=127.0.0.1', 'public', 't')`,
  `export database 'D/out'`,
  `export database 'L/out'`,
  `import database 'D/out'`,
  `install httpfs`,
  `load httpfs`,
  `load 'D/out.duckdb_extension'`,
  `install spatial from community`,
  `select * from read_csv('http://U/x.csv')`,
  `select * from read_parquet('s3://bucket/x.parquet')`,
  `create secret (type s3, key_id 'a', secret 'b', endpoint 'U')`,
  `create/**/persistent secret (type s3, key_id 'a', secret 'b')`,
  `select getenv('HOME')`,
  `set enable_external_access = true`,
  `set lock_configuration = false`,
  `reset allowed_paths`,
  `set allowed_directories = ['/']`,
  `set temp_directory = 'D'`,
  `set home_directory = 'D'`,
  `set log_query_path = 'D/out.log'`,
  `pragma enable_profiling = 'json'`,
  `pragma profiling_output = 'D/out.json'`,
  `call enable_logging(storage = 'file', storage_config = {'path': 'D/out'})`,
  `select * from enable_logging(storage = 'file', storage_config = {'path': 'D/out'})`,
  `select * from enable_profiling(format = 'json', save_location = 'D/out.json')`,
  `from enable_peg_parser()`,
  `select * from "enable_peg_parser" ()`,
  `checkpoint`,
  `drop view ton.blocks`,
  `delete from etl.parts`,
];

test.each(HOSTILE)('sql --lake refuses: %s', async (statement) => {
  const before = await readdir(join(directory, 'real'), { recursive: true });
  const filled = statement
    .replaceAll(/\bP(?=')/g, part)
    .replaceAll(/\bD(?=[/'])/g, directory)
    .replaceAll(/\bL(?=\/)/g, lake)
    .replaceAll(/\bU(?=[/'])/g, url);
  await expect(ask(filled)).rejects.toThrow(DatabaseError);
  expect((await readdir(directory)).sort()).toEqual(['lake', 'outside', 'private.csv', 'real']);
  expect(await readdir(join(directory, 'real'), { recursive: true })).toEqual(before);
  expect(requests).toEqual([]);
  const { rows } = await ask('select count(*) > 0 from blocks');
  expect(rows).toEqual([['t']]);
});

test.each([`select current_setting('http_proxy')`, `select value from duckdb_settings()`])(
  'sql --lake shows no password of the environment: %s',
  async (statement) => {
    expect(JSON.stringify(await ask(statement))).not.toContain('secretive');
  },
);

test.each([
  `select count(*) from transactions t join blocks b on b.utime = t.utime`,
  `with a as (from blocks) select count(*) from a`,
  `from daily_activity`,
  `explain select * from blocks`,
  `explain analyze select count(*) from blocks`,
  `describe blocks`,
  `summarize blocks`,
  `show all tables`,
  `pragma table_info('blocks')`,
  `pivot (select workchain, seqno from blocks) on workchain using count(*)`,
  `create temp table mine as select * from blocks`,
  `create macro twice(x) as 2 * x`,
  `select count(*) from mine where twice(seqno) > 0`,
])('sql --lake runs: %s', async (statement) => {
  await expect(ask(statement)).resolves.toHaveProperty('rows');
});

thorough(
  'what does not fit into memory goes to a temporary file, which is deleted with the session',
  async () => {
    const small = await openEngine();
    await small.ask(`set memory_limit = '100MB'; set threads = 1`);
    const place = small.scratch('spill');
    const spilling = await openLakeReader(small, lake);
    const sorted = spilling(
      'select count(*) from (select hash(i) as h from range(12000000) t(i) order by h limit 11000000)',
    );
    await expect.poll(() => existsSync(place), { timeout: 30_000 }).toBe(true);
    expect((await sorted).rows).toEqual([['11000000']]);
    await small.close();
    expect(existsSync(place)).toBe(false);
  },
);

test('a log from elsewhere cannot name files outside its lake', async () => {
  const place = join(directory, 'real-forged');
  await cp(join(directory, 'real'), place, { recursive: true });
  const log = join(place, 'blocks', '_delta_log', `${'0'.repeat(19)}1.json`);
  const add = {
    path: '../../private.parquet',
    partitionValues: { day: '2026-01-31' },
    size: 1,
    dataChange: false,
    tags: {},
  };
  await cp(part, join(directory, 'private.parquet'));
  try {
    await writeFile(log, `${JSON.stringify({ add })}\n`);
    await expect(logIn(place, 'blocks')).rejects.toThrow(/is not a commit of a lake of this program/);
    const other = await openEngine();
    await expect(
      openLakeReader(other, place).then((read) => read('select count(*) from blocks')),
    ).rejects.toThrow(/private/);
    await other.close();
  } finally {
    await rm(place, { recursive: true });
    await rm(join(directory, 'private.parquet'));
  }
});
