import { sql } from 'drizzle-orm';
import { afterEach, expect, test } from 'vitest';
import * as z from 'zod';
import { openDatabase, type Database } from '../../../src/db/connection/database.ts';
import { holdLock } from '../../../src/db/connection/hold-lock.ts';
import { migrate } from '../../../src/db/migrate/migrate.ts';
import { knownMigrations } from '../../../src/db/migrate/own-schema.ts';
import { dropSetting, readSetting } from '../../../src/db/settings.ts';
import { WrongDatabaseError } from '../../../src/errors.ts';
import { openTestStore } from '../../support/database/database.ts';
import { createDatabase } from '../../support/database/postgres.ts';
import { untilOneWaits } from '../../support/database/until-one-waits.ts';

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
  await database.script('create schema ton');
  await expect(migrate(database)).rejects.toThrow(/schema "ton" already exists/);
  const there = sql`select to_regnamespace('etl')::text as etl`;
  expect(await database.rows(there, z.object({ etl: z.string().nullable() }))).toEqual([{ etl: null }]);
  await database.script('drop schema ton');
  await migrate(database);
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
