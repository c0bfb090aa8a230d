import { join } from 'node:path';
import { sql, type SQL } from 'drizzle-orm';
import { readMigrationFiles, type MigrationMeta } from 'drizzle-orm/migrator';
import * as z from 'zod';
import { WrongDatabaseError } from '../errors.ts';
import { packageRoot } from '../package.ts';
import type { Session, Database, OpenTransaction, TransactionHow } from './database.ts';
import type { LockName } from '../locks.ts';

export const MIGRATIONS = join(packageRoot, 'migrations');

let files: ReadonlyMap<string, MigrationMeta> | undefined;

/** The migrations in this package, oldest first, by hash. */
export function knownMigrations(): ReadonlyMap<string, MigrationMeta> {
  return (files ??= new Map(
    readMigrationFiles({ migrationsFolder: MIGRATIONS }).map((migration) => [migration.hash, migration]),
  ));
}

const Applied = z.object({ migrations: z.number() });

/**
 * Requires that no newer version of the program has migrated the database meanwhile. This version would not know how
 * to write its rows.
 * @throws WrongDatabaseError
 */
export async function requireOwnSchema(session: Session): Promise<void> {
  const [row] = await session.rows(sql`select count(*)::int as migrations from etl.migrations`, Applied);
  if ((row?.migrations ?? 0) > knownMigrations().size) throw newerSchema();
}

export function newerSchema(): WrongDatabaseError {
  return new WrongDatabaseError(
    'the database has a schema that this version of toncenter-etl does not know',
    {
      hint: 'Use the version of toncenter-etl that migrated it last, or a newer one.',
    },
  );
}

/** `shared`: several sessions can hold it at the same time. */
export type LockMode = 'alone' | 'shared';

/** An expression that takes one of this program's advisory locks until the transaction ends; `path` is a text. */
export function lockOf(path: SQL, mode: LockMode): SQL {
  const lock = sql.raw(mode === 'alone' ? 'pg_advisory_xact_lock' : 'pg_advisory_xact_lock_shared');
  return sql`${lock}(hashtextextended('toncenter-etl/' || ${path}, 0))`;
}

/** Takes one of this program's advisory locks until the transaction ends, and waits if another session holds it. */
export async function holdLock(session: Session, name: LockName, mode: LockMode = 'alone'): Promise<void> {
  await session.run(sql`select ${lockOf(sql`${name}::text`, mode)}`);
}

/**
 * Runs `work` in one transaction, and commits only if no newer program has migrated the database. It checks that last:
 * if a commit and a migration of the same rows wait for each other, the later one sees the result of the earlier one.
 * @throws WrongDatabaseError if a newer program has migrated the database: nothing was written
 */
export function writeTransaction<T>(
  database: Database,
  work: (session: OpenTransaction) => Promise<T>,
  how?: TransactionHow,
): Promise<T> {
  return database.transaction(async (session) => {
    const result = await work(session);
    await requireOwnSchema(session);
    return result;
  }, how);
}
