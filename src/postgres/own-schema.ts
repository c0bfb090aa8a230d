import { join } from 'node:path';
import { sql } from 'drizzle-orm';
import { readMigrationFiles, type MigrationMeta } from 'drizzle-orm/migrator';
import * as z from 'zod';
import { WrongDatabaseError } from '../errors.ts';
import { packageRoot } from '../package.ts';
import type { Session } from './database.ts';

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
