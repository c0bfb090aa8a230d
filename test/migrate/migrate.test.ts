import { randomBytes } from 'node:crypto';
import { sql } from 'drizzle-orm';
import { afterEach, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { openDatabase, type Database, holdLock, knownMigrations } from '../../src/postgres/database.ts';
import { compareSchema } from '../../src/migrate/check-schema.ts';
import { migrate, requireSchema } from '../../src/migrate/migrate.ts';
import { dropSetting, keepSetting, readSetting } from '../../src/ledger/stored-settings.ts';
import { WrongDatabaseError } from '../../src/errors.ts';
import { openTestStore } from '../support/database/database.ts';
import { createDatabase } from '../support/database/postgres.ts';
import { untilOneWaits } from '../support/database/until-one-waits.ts';

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function openEmpty(processes: number): Promise<Database[]> {
  const { url, drop } = await createDatabase();
  closing.push(drop);
  return Promise.all(
    Array.from({ length: processes }, async () => {
      const database = await openDatabase({ url, applicationName: 'migrate', maxConnections: 1 });
      closing.push(() => database.close());
      return database;
    }),
  );
}

test('processes with one connection each migrate a new database once, in the order of the migrations', async () => {
  const databases = await openEmpty(4);
  await Promise.all(databases.map((database) => migrate(database)));
  for (const database of databases) {
    const applied = await database.rows(
      sql`select hash from etl.migrations order by id`,
      z.object({ hash: z.string() }),
    );
    expect(applied.map(({ hash }) => hash)).toEqual([...knownMigrations().keys()]);
    expect(await readSetting(database, 'repeatable')).toMatchObject({ sha256: expect.any(String) as string });
  }
});

test('of a migration that fails nothing stays', async () => {
  const [database] = await openEmpty(1);
  if (database === undefined) throw new Error('no database');
  await database.script(`
    create function public.refuse() returns event_trigger language plpgsql as $$ begin raise exception 'no index'; end $$;
    create event trigger refuse on ddl_command_start when tag in ('CREATE INDEX') execute function public.refuse()`);
  await expect(migrate(database)).rejects.toThrow('no index');
  const there = sql`select to_regnamespace('etl')::text as etl`;
  expect(await database.rows(there, z.object({ etl: z.string().nullable() }))).toEqual([{ etl: null }]);
  await database.script('drop event trigger refuse');
  await migrate(database);
});

describe('schemas that are there already', () => {
  test.each([
    ['a table that has the name of one of ours', 'create schema etl; create table etl.pages (id int)'],
    ['a table of any name', 'create schema ton; create table ton.nets (id int)'],
    ['a view', 'create schema etl_partitions; create view etl_partitions.seen as select 1 as id'],
    [
      'a function alone',
      `create schema ton; create function ton.nano_to_ton(numeric) returns text language sql as 'select 1::text'`,
    ],
    ['migrations of its own', 'create schema etl; create table etl.migrations (version text primary key)'],
  ])('are not shared with another program: %s', async (_, script) => {
    const [database] = await openEmpty(1);
    await database!.script(script);
    for (const attempt of [migrate, requireSchema]) {
      const error = await attempt(database!).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(WrongDatabaseError);
      expect(error).toMatchObject({
        exitCode: 2,
        hint: expect.stringContaining('use another database') as string,
      });
    }
  });

  test('are used where they are empty, also by a role that may make none and owns none', async () => {
    const { url, drop } = await createDatabase();
    closing.push(drop);
    const role = `guest_${randomBytes(4).toString('hex')}`;
    const admin = await openDatabase({ url, applicationName: 'admin', maxConnections: 1 });
    closing.push(() => admin.close());
    closing.push(() => admin.script(`drop owned by ${role}; drop role ${role}`));
    await admin.script(`
      create schema ton; create schema etl; create schema etl_partitions;
      create role ${role} login password 'guest';
      grant usage, create on schema ton, etl, etl_partitions to ${role}`);
    const login = Object.assign(new URL(url), { username: role, password: 'guest' }).href;
    const database = await openDatabase({ url: login, applicationName: 'guest', maxConnections: 1 });
    closing.push(() => database.close());
    await migrate(database);
    await requireSchema(database);
  });
});

describe('whatever a role or a database makes the default', () => {
  const DEFAULTS = {
    search_path: 'nowhere',
    default_tablespace: 'pg_default',
    default_table_access_method: 'heap_of_others',
    temp_tablespaces: "''",
    default_transaction_isolation: 'serializable',
    default_transaction_deferrable: 'on',
    check_function_bodies: 'off',
    standard_conforming_strings: 'off',
    datestyle: 'german',
    intervalstyle: 'iso_8601',
    timezone: "'Asia/Tokyo'",
    bytea_output: 'escape',
    extra_float_digits: '-15',
    array_nulls: 'off',
    transform_null_equals: 'on',
    quote_all_identifiers: 'on',
    lc_monetary: "'C'",
    client_min_messages: 'debug1',
  };

  test('the schema becomes the same, and values are read and written the same', async () => {
    const { url, drop } = await createDatabase();
    closing.push(drop);
    const name = new URL(url).pathname.slice(1);
    const admin = await openDatabase({ url, applicationName: 'admin', maxConnections: 1 });
    await admin.script(
      'create access method heap_of_others type table handler pg_catalog.heap_tableam_handler',
    );
    for (const [setting, value] of Object.entries(DEFAULTS))
      await admin.script(`alter database ${name} set ${setting} = ${value}`);
    await admin.close();
    const [store, database] = [
      await openTestStore(),
      await openDatabase({ url, applicationName: 'test', maxConnections: 1 }),
    ];
    closing.push(
      () => store.close(),
      () => database.close(),
    );
    await migrate(database);
    expect(await compareSchema(database)).toEqual([]);
    expect(await definitions(database)).toEqual(await definitions(store.database));
    for (const session of [store.database, database]) {
      const asked = await session.rows(VALUES, z.record(z.string(), z.unknown()));
      const inTransaction = await session.transaction((open) =>
        open.rows(VALUES, z.record(z.string(), z.unknown())),
      );
      expect([asked, inTransaction]).toEqual([[EXPECTED], [EXPECTED]]);
    }
  });

  const VALUES = sql`
    select timestamptz '2026-02-03 04:05:06.5+00' as "time", interval '1 day 02:03' as "length", '\\x00ff'::bytea::text as bytes,
      (0.1::float8 + 0.2::float8)::text as "float", '\\d' as "slash", quote_ident('plain') as ident,
      (${sql.param([null, 'a'])}::text[])[1] is null as "null", (null::int = null) is null as "unknown",
      date '2026-02-03'::text as "day", current_setting('transaction_isolation') as "level"`;
  const EXPECTED = {
    time: '2026-02-03 04:05:06.5+00',
    length: '1 day 02:03:00',
    bytes: '\\x00ff',
    float: '0.30000000000000004',
    slash: '\\d',
    ident: 'plain',
    null: true,
    unknown: true,
    day: '2026-02-03',
    level: 'read committed',
  };
});

/** How Postgres prints what was made. */
function definitions(database: Database): Promise<unknown[]> {
  const made = sql`
    select c.oid::regclass::text as name, coalesce(pg_get_viewdef(c.oid), am.amname) as made from pg_class c
      left join pg_am am on am.oid = c.relam
    where c.relnamespace::regnamespace::text in ('ton', 'etl')
    union all select p.oid::regprocedure::text, pg_get_functiondef(p.oid) from pg_proc p
    where p.pronamespace::regnamespace::text in ('ton', 'etl')
    union all select 'default of ' || adrelid::regclass::text || adnum, pg_get_expr(adbin, adrelid) from pg_attrdef
    order by 1, 2`;
  return database.rows(made, z.record(z.string(), z.unknown()));
}

describe('a journal that was changed by hand', () => {
  test.each([['delete from etl.migrations'], ['drop table etl.migrations']])(
    'is not taken for an empty database, and what puts it back is said: %s',
    async (harm) => {
      const store = await openTestStore();
      closing.push(() => store.close());
      await store.database.script(harm);
      for (const attempt of [migrate, requireSchema]) {
        const error = await attempt(store.database).catch((thrown: unknown) => thrown);
        expect(error).toBeInstanceOf(WrongDatabaseError);
        expect(String(error)).toContain('etl.migrations lacks migrations that were applied');
      }
      const { hint = '' } = (await migrate(store.database).catch(
        (thrown: unknown) => thrown,
      )) as WrongDatabaseError;
      await store.database.script(/create table.*?\)\)?;.*\d\)/.exec(hint)?.[0] ?? '');
      await migrate(store.database);
      await requireSchema(store.database);
    },
  );
});

describe('what only reads', () => {
  test('leaves an empty database as it is, and says that nothing is there', async () => {
    const [database] = await openEmpty(1);
    await expect(requireSchema(database!)).rejects.toThrow(/nothing was crawled yet/);
    const there = sql`select 1 from pg_namespace where nspname in ('ton', 'etl', 'etl_partitions')`;
    expect(await database!.run(there)).toBe(0);
  });

  test('leaves the functions of another version as they are, and names both versions', async () => {
    const store = await openTestStore();
    closing.push(() => store.close());
    const others = { sha256: '0123456789abcdef' };
    await keepSetting(store.database, 'repeatable', others);
    const error = await requireSchema(store.database).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      exitCode: 2,
      hint: expect.stringContaining('toncenter-etl migrate') as string,
    });
    expect(String(error)).toMatch(/schema is version \w+\+01234567, this program needs \w+\+[0-9a-f]{8}/);
    expect(await readSetting(store.database, 'repeatable')).toEqual(others);
    await migrate(store.database);
    await requireSchema(store.database);
  });
});

test('each function of ours has a search_path of its own, or bound its names when it was made', async () => {
  const store = await openTestStore();
  closing.push(() => store.close());
  const bare = sql`
    select p.oid::regprocedure::text as name from pg_proc p
    where p.pronamespace::regnamespace::text in ('ton', 'etl') and p.prosqlbody is null
      and not coalesce(p.proconfig, '{}') @> array['search_path=pg_catalog, pg_temp']`;
  expect(await store.database.rows(bare, z.object({ name: z.string() }))).toEqual([]);
});

test('who has waited for a newer program to migrate changes nothing', async () => {
  const store = await openTestStore();
  closing.push(() => store.close());
  const { database } = store;
  await dropSetting(database, 'repeatable');
  let migrating: Promise<unknown> = Promise.resolve();
  await database.transaction(async (session) => {
    await holdLock(session, 'migrate');
    migrating = migrate(database).catch((error: unknown) => error);
    await untilOneWaits(database, session, '%pg_advisory_xact_lock%');
    await session.run(sql`insert into etl.migrations (hash, created_at) values ('of the future', 9e12)`);
  });
  expect(await migrating).toBeInstanceOf(WrongDatabaseError);
  expect(await readSetting(database, 'repeatable')).toBeUndefined();
});
