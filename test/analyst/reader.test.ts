import { randomBytes } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { sql } from 'drizzle-orm';
import pg from 'pg';
import * as z from 'zod';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { createPartitions } from '../../src/write/target.ts';
import { openDatabase, type Database } from '../../src/postgres/database.ts';
import { openRestricted, allowReading } from '../../src/migrate/reader.ts';
import { runSql } from '../../src/read/free-sql.ts';
import { packageRoot } from '../../src/package.ts';
import { blocks } from '../../src/tables/ton/blocks.ts';
import { openTestStore, type TestStore } from '../support/database/database.ts';
import { withLogin } from '../../src/settings/postgres-url.ts';
import { openCli } from '../support/program/cli.ts';

const NAME = `reader_${randomBytes(4).toString('hex')}`;

let store: TestStore;
let reader: pg.Client;

async function connectAs(user: string, password: string): Promise<pg.Client> {
  const url = new URL(store.url);
  Object.assign(url, { username: user, password });
  const client = new pg.Client({ connectionString: url.href });
  await client.connect();
  return client;
}

beforeAll(async () => {
  store = await openTestStore();
  await createPartitions(store.database, 'month').ensure([blocks], ['2026-01-05T00:00:00Z']);
  const { password = '' } = await allowReading(store.database, { name: NAME, timeout: 7, strict: true });
  reader = await connectAs(NAME, password);
});
afterAll(async () => {
  await reader.end();
  await store.close();
  const admin = new pg.Client({ connectionString: inject('postgresUrl') });
  await admin.connect();
  await admin.query(`drop role ${NAME}`);
  await admin.end();
});

/** The session that the program opens on its own server. */
const restricted = (right: 'read' | 'write', from: Pick<TestStore, 'database' | 'url'> = store) =>
  openRestricted({ ...from, embedded: {}, applicationName: 'sql', right });

/** The outcome of each statement: `done`, or the error. */
const outcomesOf = (database: Database, attempts: readonly string[], write = false) =>
  Promise.all(
    attempts.map((statement) =>
      runSql(database, statement, { write }).then(
        () => 'done',
        (error: unknown) => (error as Error).message,
      ),
    ),
  );

const REFUSED = /permission denied|must be|nothing was changed|no schema has been selected/;

const one = async (statement: string): Promise<unknown> => {
  const { rows } = await reader.query<Record<string, unknown>>(statement);
  return Object.values(rows[0] ?? {})[0];
};

const put = (utime: string, seqno: number) =>
  store.database.run(sql`
    insert into ton.blocks (utime, workchain, shard, seqno, root_hash, file_hash, start_lt, end_lt, tx_count)
    values (${utime}, -1, '8000000000000000', ${seqno}, 'r', 'f', 1, 2, 0)`);

describe('the reader', () => {
  test('finds tables, views and functions without their schema', async () => {
    await put('2026-01-05T00:00:00Z', 1);
    expect(await one('select count(*)::int from blocks')).toBe(1);
    expect(await one('select count(*)::int from daily_activity')).toBe(0);
    expect(await one('select nano_to_ton(5)')).toBe('0.000000005');
    expect(await one('select count(*)::int from etl.coverage_report')).toBe(0);
    expect(await one('show timezone')).toBe('UTC');
  });

  test('reads at once a partition that was made after the role', async () => {
    await createPartitions(store.database, 'month').ensure([blocks], ['2026-02-05T00:00:00Z']);
    await put('2026-02-05T00:00:00Z', 2);
    expect(await one("select seqno from blocks where utime >= '2026-02-01Z'")).toBe(2);
  });

  const TRUST = ['coverage', 'coverage_report', 'datasets', 'feeds', 'findings', 'grades'];
  const LISTS = ['stable_jettons'];

  test('sees the data, six relations about their completeness and the list of stable jettons, and no internal table', async () => {
    const listed = async (statement: string) =>
      (await reader.query<{ name: string }>(statement)).rows.map(({ name }) => name);
    const ofTon = await store.database.rows(
      sql`select c.relname as name from pg_class c where c.relnamespace = 'ton'::regnamespace and c.relkind in ('r', 'p', 'v')
          order by c.relname collate "C"`,
      z.object({ name: z.string() }),
    );
    const names = `select table_name::text as name from information_schema.tables where table_schema`;
    const order = `order by table_name::text collate "C"`;
    expect(await listed(`${names} = 'ton' ${order}`)).toEqual(ofTon.map(({ name }) => name));
    expect(await listed(`${names} = 'etl' ${order}`)).toEqual([...TRUST, ...LISTS]);
    expect(await listed(`${names} not in ('ton', 'etl', 'information_schema', 'pg_catalog')`)).toEqual([]);
    // The tables that `\d` of psql lists.
    expect(
      await listed(`select distinct n.nspname::text as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
        where c.relkind in ('r', 'p', 'v') and n.nspname !~ '^(pg_|information_schema)' and pg_table_is_visible(c.oid)`),
    ).toEqual(['ton']);
  });

  test('reads every table and view of the data, whatever they contain', async () => {
    const failed: string[] = [];
    const { rows: all } = await reader.query<{ name: string }>(
      `select format('%I.%I', table_schema, table_name) as name from information_schema.tables where table_schema in ('ton', 'etl')`,
    );
    expect(all.length).toBeGreaterThan(60);
    for (const { name } of all)
      await reader
        .query(`select * from ${name}`)
        .catch((error: unknown) => failed.push(`${name}: ${String(error)}`));
    expect(failed).toEqual([]);
  });

  test('reads everything that a dashboard shows', async () => {
    const folder = join(packageRoot, 'deploy', 'grafana', 'dashboards');
    const texts = await Promise.all(
      (await readdir(folder)).map((name) => readFile(join(folder, name), 'utf8')),
    );
    const named = texts.flatMap((text) =>
      [...text.matchAll(/\b(?:from|join) etl\.(\w+)/g)].map(([, name]) => name),
    );
    expect(named.filter((name) => !TRUST.includes(name ?? ''))).toEqual([]);
    expect(named).not.toEqual([]);
  });

  test('reads a table that a later migration adds', async () => {
    await store.database.script('create table ton.later (x int); insert into ton.later values (3)');
    expect(await one('select x from later')).toBe(3);
  });

  test('asks whether a range is complete, although it cannot read the quarantine', async () => {
    await expect(
      reader.query("select etl.assert_complete('blocks', '2026-01-01Z', '2026-01-02Z')"),
    ).rejects.toThrow(/blocks is not covered/);
    await store.database.run(
      sql`insert into etl.coverage (dataset, scope, pass, covered) values ('blocks', '', 0, '{[1767225600,1767312000)}')`,
    );
    expect(await one("select etl.assert_complete('blocks', '2026-01-01Z', '2026-01-02Z')")).toBe(true);
  });

  test('asks which datasets feed which table, and whether they are complete', async () => {
    expect(await one("select tables::text from etl.datasets where dataset = 'blocks'")).toBe(
      '{blocks,block_parents}',
    );
    expect(await one("select string_agg(dataset, ' ') from etl.feeds where relation = 'swaps'")).toBe(
      'actions',
    );
    expect(await one("select fed from etl.fed('blocks', '2026-01-01Z', '2026-01-02Z')")).toBe(true);
  });

  test('never compiles a query, whatever the database sets, and neither do sql and functions', async () => {
    await store.database.script(`alter database ${new URL(store.url).pathname.slice(1)} set jit = on`);
    const { password = '' } = await allowReading(store.database, { name: NAME, timeout: 7, strict: true });
    const again = await connectAs(NAME, password);
    const { rows } = await again.query('show jit');
    await again.end();
    const other = await openDatabase({ url: store.url, applicationName: 'sql' });
    const shown = await runSql(other, 'show jit', { write: false });
    const own = await other.transaction((session) =>
      session.rows(sql`select current_setting('jit') as jit`, z.object({ jit: z.string() })),
    );
    await other.close();
    expect([rows, shown.rows, own]).toEqual([[{ jit: 'off' }], [['off']], [{ jit: 'off' }]]);
    expect(
      await one(`select string_agg(proname, ' ' order by proname) from pg_proc
        where 'jit=off' = any (proconfig) and pronamespace = 'ton'::regnamespace`),
    ).toBe('account_statement jetton_holders trace_tree');
  });

  test('has a limited number of sessions', async () => {
    const {
      rows: [role],
    } = await reader.query<{ limit: number }>(
      'select rolconnlimit as limit from pg_roles where rolname = current_user',
    );
    expect(role?.limit).toBe(20);
  });

  test('has a statement timeout', async () => {
    expect(await one('show statement_timeout')).toBe('7s');
    await reader.query("set statement_timeout = '50ms'");
    await expect(reader.query('select pg_sleep(5)')).rejects.toMatchObject({ code: '57014' });
    await reader.query('reset statement_timeout');
  });

  const forbidden = [
    'insert into ton.blocks (utime) values (now())',
    'insert into etl_partitions.blocks_2026_01_01 (utime) values (now())',
    'update ton.blocks set seqno = 5',
    'delete from ton.blocks',
    'truncate ton.blocks',
    'drop table ton.blocks',
    'alter table ton.blocks add column x int',
    'create table ton.mine (x int)',
    'create table public.mine (x int)',
    'create table etl.mine (x int)',
    'create schema mine',
    "create function ton.f() returns int language sql as 'select 1'",
    "copy (select 1) to program 'cat'",
    "copy ton.blocks from program 'echo'",
    "copy (select 1) to '/tmp/reader'",
    "select pg_read_file('postgresql.conf')",
    'select * from etl_partitions.blocks_2026_02_01',
    'select * from etl.kept_daily_activity',
    'select * from etl.open_daily_activity',
    'select * from etl.seen_vestings',
    'select * from etl.pages',
    'select * from etl.labels',
    'select * from etl.quarantine',
    'select * from etl.settings',
    'select * from etl.leases',
    'select * from etl.budget',
    'select * from etl.watch',
    'select rolpassword from pg_authid',
    "select etl.take_slots('h', 1, 0, 1, false, 0)",
    `select etl.allow_reading('${NAME}', 'x', '1s')`,
    'create temp table mine (x int)',
    'select lo_create(0)',
    "select lo_from_bytea(0, 'x')",
    "select lo_put(1, 0, 'x')",
    "select lo_import('/etc/hostname')",
    'select lo_unlink(1)',
    "select pg_advisory_lock(hashtextextended('toncenter-etl/migrate', 0))",
    'select pg_try_advisory_lock_shared(1, 2)',
    'select pg_advisory_xact_lock(1)',
    "select pg_logical_emit_message(false, 'a', 'b')",
    'select pg_export_snapshot()',
    'create role another',
    'set role postgres',
  ];

  // A session's read-only setting can be changed in the session, so the role's privileges must be enough
  // without it.
  test.each(['on', 'off'])('may do nothing else, with transactions read-only %s', async (readOnly) => {
    await reader.query(`set default_transaction_read_only = ${readOnly}`);
    const codes: Record<string, unknown> = {};
    for (const statement of forbidden) {
      codes[statement] = await reader.query(statement).then(
        () => 'done',
        (error: unknown) => (error as pg.DatabaseError).code,
      );
    }
    // insufficient_privilege; if the session is read-only, read_only_sql_transaction comes first.
    const allowed = readOnly === 'on' ? ['42501', '25006'] : ['42501'];
    expect(Object.entries(codes).filter(([, code]) => !allowed.includes(String(code)))).toEqual([]);
  });
});

test('a new password voids the old one, and a role with more privileges is refused', async () => {
  const next = await allowReading(store.database, { name: NAME, timeout: 7 });
  expect(next).toMatchObject({ exists: true, left: [] });
  await expect(connectAs(NAME, 'another')).rejects.toThrow(/password authentication failed/);
  const again = await connectAs(NAME, next.password ?? '');
  await again.end();
  await expect(allowReading(store.database, { name: 'postgres', timeout: 7 })).rejects.toThrow(
    /may do more than read/,
  );
});

describe('the privileges that PUBLIC gives to every role', () => {
  const OTHER = `other_${randomBytes(4).toString('hex')}`;
  const may = async () => {
    const other = await connectAs(OTHER, 'x');
    const done = await other
      .query('create temp table t (i int); select pg_advisory_lock(7); select lo_create(0)')
      .then(
        () => true,
        () => false,
      );
    await other.end();
    return done;
  };

  test('stay as they are, unless reader is asked to be strict', async () => {
    const fresh = await openTestStore();
    await fresh.database.script(`create role ${OTHER} login password 'x'`);
    const before = store;
    store = fresh;
    try {
      const cli = await openCli();
      const run = (...args: string[]) => cli.run(args, { DATABASE_URL: fresh.url });
      const reads = await run('sql', 'select 1');
      const made = await run('reader', '--name', NAME);
      expect([reads.code, made.code, await may()]).toEqual([0, 0, true]);
      expect(made.stderr).toMatch(/--strict revokes that from PUBLIC/);
      const strict = await run('reader', '--name', NAME, '--strict');
      await cli.close();
      expect([strict.code, await may()]).toEqual([0, false]);
    } finally {
      store = before;
      await fresh.database.script(`drop owned by ${OTHER}; drop role ${OTHER}; drop owned by ${NAME}`);
      await fresh.close();
    }
  });
});

describe('sql, if the setting names a superuser', () => {
  test('can only read: no program, no file, no lock, no large object, and no other role', async () => {
    const database = await restricted('read');
    const program = "execute $x$copy (select 1) to program 'cat'$x$; end $$";
    const attempts = [
      "copy (select 1) to program 'cat'",
      "copy (select 1) to '/tmp/toncenter-etl-written'",
      `do $$ begin reset role; ${program}`,
      `do $$ begin set session authorization default; ${program}`,
      'set role postgres',
      "select pg_read_file('postgresql.conf')",
      'select lo_create(0)',
      'select pg_advisory_lock(1)',
      'create temp table mine (x int)',
    ];
    const outcomes = await outcomesOf(database, attempts);
    expect(attempts.filter((_, index) => !REFUSED.test(outcomes[index] ?? ''))).toEqual([]);
    const { rows } = await runSql(database, 'select count(*) from etl.settings', { write: false });
    expect(rows).toHaveLength(1);
    await database.close();
  });

  test('with --write changes rows, but cannot run a program or leave one for others to run', async () => {
    const database = await restricted('write');
    const changes = [
      "insert into etl.watch (address) values ('written')",
      "update etl.watch set note = 'again' where address = 'written'",
      "delete from etl.watch where address = 'written'",
      'truncate etl.failures',
      'delete from ton.blocks where seqno = 77',
    ];
    const maintenance = database.version >= 170_000 ? ['reindex table etl.settings', 'analyze blocks'] : [];
    expect(new Set(await outcomesOf(database, [...changes, ...maintenance], true))).toEqual(
      new Set(['done']),
    );
    const attempts = [
      'delete from etl.migrations',
      "update etl.settings set value = '{}'",
      "copy (select 1) to program 'cat'",
      "copy blocks from program 'cat'",
      "copy (select 1) to '/tmp/toncenter-etl-written'",
      "select pg_read_file('postgresql.conf')",
      "do $$ begin reset role; execute $x$copy (select 1) to program 'cat'$x$; end $$",
      'set role postgres',
      'create role another superuser',
      "create function etl.f() returns int language sql as 'select 1'",
      "create function public.f() returns int language sql as 'select 1'",
      'create trigger t before insert on ton.blocks for each row execute function suppress_redundant_updates_trigger()',
      'create index on ton.blocks ((seqno + 1))',
      'alter table ton.blocks add column x int',
      'drop table ton.blocks',
    ];
    const outcomes = await outcomesOf(database, attempts, true);
    expect(attempts.filter((_, index) => !REFUSED.test(outcomes[index] ?? ''))).toEqual([]);
    await database.close();
  });

  test('finds its role again, and another process does, too', async () => {
    const both = await Promise.all([restricted('read'), restricted('read')]);
    for (const database of both) {
      const { rows } = await runSql(database, 'select current_user', { write: false });
      expect(rows).toEqual([['toncenter_etl_sql']]);
      await database.close();
    }
  });
});

describe('an owner without the right to create roles', () => {
  const OWNER = `owner_${randomBytes(4).toString('hex')}`;
  const MADE = `made_${randomBytes(4).toString('hex')}`;
  let database: Database;

  beforeAll(async () => {
    await store.database.script(`
      create role ${OWNER} login password 'x';
      grant execute on all functions in schema pg_catalog to ${OWNER};
      alter database ${new URL(store.url).pathname.slice(1)} owner to ${OWNER};
      do $$ declare r record; begin
        for r in select nspname from pg_namespace where nspname in ('ton', 'etl', 'etl_partitions') loop
          execute format('alter schema %I owner to ${OWNER}', r.nspname);
        end loop;
        for r in select oid::regclass as name, relkind from pg_class where relnamespace::regnamespace::text in ('ton', 'etl', 'etl_partitions')
          and relkind in ('r', 'p', 'v') loop
          execute format('alter %s %s owner to ${OWNER}', case r.relkind when 'v' then 'view' else 'table' end, r.name);
        end loop;
        for r in select oid::regprocedure as name from pg_proc where pronamespace::regnamespace::text in ('ton', 'etl') loop
          execute format('alter function %s owner to ${OWNER}', r.name);
        end loop;
      end $$`);
    const url = new URL(store.url);
    Object.assign(url, { username: OWNER, password: 'x' });
    database = await openDatabase({ url: url.href, applicationName: 'owner' });
  });
  afterAll(async () => {
    await database.close();
    await store.database.script(
      `reassign owned by ${OWNER} to current_user; drop owned by ${MADE}; drop role ${MADE}; drop owned by ${OWNER}; drop role ${OWNER}`,
    );
  });

  test('gets the SQL for the administrator, who creates the role, which is then adopted', async () => {
    const cli = await openCli();
    const read = () =>
      cli.run(['reader', '--name', MADE, '--timeout', '7s'], {
        DATABASE_URL: withLogin(store.url, OWNER, 'x'),
      });
    const first = await read();
    expect(first.code).toBe(2);
    expect(first.stderr).toMatch(/lacks CREATEROLE\nhint: Let an administrator run the SQL above/);
    expect(first.stdout).toMatch(/^create role .* password '/);
    await store.database.script(first.stdout);
    const second = await read();
    expect(second.code).toBe(0);
    expect(second.stdout).toBe(`${withLogin(store.url, MADE, '')}\n`);
    expect(second.stderr).toMatch(/The role existed: its password is unchanged/);
    expect(second.stderr).not.toMatch(/password '|statement_timeout/);
    await store.database.script(
      `alter role ${MADE} in database ${new URL(store.url).pathname.slice(1)} reset search_path`,
    );
    const third = await read();
    expect([third.code, third.stderr.match(/alter role .*;/g)]).toEqual([
      2,
      [expect.stringMatching(/set search_path = pg_catalog, ton, public;$/)],
    ]);
    await store.database.script(/alter role .*;/.exec(third.stderr)?.[0] ?? '');
    const password = /password '(.*)'/.exec(first.stdout)?.[1] ?? '';
    const made = await connectAs(MADE, password);
    const { rows } = await made.query(
      "select current_setting('statement_timeout') as timeout, (select count(*)::int from blocks) as blocks",
    );
    await made.end();
    const never = await cli.run(['reader', '--name', 'never_made', '--keep-password'], {
      DATABASE_URL: store.url,
    });
    await cli.close();
    expect([never.code, never.stdout]).toEqual([2, '']);
    expect(never.stderr).toMatch(/there is no role never_made whose password could be kept/);
    expect(rows).toEqual([{ timeout: '7s', blocks: 2 }]);
  });

  test('sees nothing if row-level security is forced on it, and is told so', async () => {
    const url = withLogin(store.url, OWNER, 'x');
    const force = (word: string) =>
      store.database.script(`alter table ton.blocks ${word} row level security`);
    await force('enable');
    const cli = await openCli();
    const status = () => cli.run(['status'], { DATABASE_URL: url, LOG_FORMAT: 'json' });
    const before = await status();
    await force('force');
    const after = await status();
    const complete = await database
      .run(sql`select etl.assert_complete('blocks', '2026-01-01Z', '2026-01-02Z')`)
      .catch((error: unknown) => String(error));
    await cli.close();
    await store.database.script(
      'alter table ton.blocks disable row level security, no force row level security',
    );
    expect(before.stderr).not.toMatch(/hides rows/);
    expect(after.stderr).toMatch(new RegExp(`hides rows of ton.blocks from ${OWNER}`));
    expect(complete).toMatch(/hides rows of ton\.blocks from owner_/);
  });

  test('reads as itself, in transactions that no statement can make writable', async () => {
    const same = await restricted('read', { database, url: store.url });
    expect(same).toBe(database);
    const attempts = [
      "delete from etl.settings where name = 'x'",
      "do $$ begin set transaction read write; delete from etl.settings where name = 'x'; end $$",
      "do $$ begin perform set_config('transaction_read_only', 'off', false); delete from etl.settings; end $$",
      'do $$ begin commit; delete from etl.settings; end $$',
      'commit; delete from etl.settings',
    ];
    for (const lifting of ['set session characteristics as transaction read write', 'commit'])
      await runSql(same, lifting, { write: false });
    await runSql(same, 'set default_transaction_read_only = off', { write: false });
    expect(await outcomesOf(same, attempts)).not.toContain('done');
  });

  test('still locks and creates temporary tables', async () => {
    await database.script('select pg_advisory_xact_lock(1); create temp table mine (x int) on commit drop');
  });
});
