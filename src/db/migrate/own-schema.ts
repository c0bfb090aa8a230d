import { join } from 'node:path';
import { sql } from 'drizzle-orm';
import { readMigrationFiles } from 'drizzle-orm/migrator';
import * as z from 'zod';
import { WrongDatabaseError } from '../../errors.ts';
import { packageRoot } from '../../package.ts';
import type { Session } from '../connection/database.ts';

export const MIGRATIONS = join(packageRoot, 'migrations');
/** Where the migrations are, and where the database keeps which of them it has had. */
export const HISTORY = {
  migrationsFolder: MIGRATIONS,
  migrationsSchema: 'etl',
  migrationsTable: 'migrations',
};

let files: ReadonlySet<string> | undefined;

/** The hashes of the migrations that this program brings along. */
export function knownMigrations(): ReadonlySet<string> {
  return (files ??= new Set(readMigrationFiles(HISTORY).map(({ hash }) => hash)));
}

const Applied = z.object({ migrations: z.number() });

/**
 * Makes sure that no newer program has migrated the database meanwhile: this one does not know what its rows have to be
 * since.
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
