import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { getTableColumns, sql } from 'drizzle-orm';
import { readMigrationFiles } from 'drizzle-orm/migrator';
import { migrate as applyPending } from 'drizzle-orm/node-postgres/migrator';
import { getTableConfig, type PgTable } from 'drizzle-orm/pg-core';
import { z } from 'zod';
import { WrongDatabaseError } from '../../errors.ts';
import { packageRoot } from '../../package.ts';
import type { Database, Session } from '../connection/database.ts';
import { folder as jobs } from '../../dataset/jobs-folder.ts';
import { loadDatasets } from '../../dataset/load-jobs.ts';
import { loadTables } from '../load-tables.ts';
import { folder as schema } from '../schema-folder.ts';
import { factsOf } from '../schema/describe.ts';
import { keepSetting, readSetting } from '../settings.ts';
import { datasetsView } from './datasets-view.ts';
import { literal } from './literal.ts';

const FOLDER = join(packageRoot, 'migrations');
/**
 * Applied whole and in this order: the limiter of requests, what else the program calls, what analysts call, and, after
 * the list of datasets, what asks which of them feed it.
 */
const REPEATABLE = ['budget.sql', 'repeatable.sql', 'analyst.sql'];
const FEEDS = 'feeds.sql';
const LOCK = sql`hashtextextended('toncenter-etl/migrate', 0)`;
const HISTORY = { migrationsFolder: FOLDER, migrationsSchema: 'etl', migrationsTable: 'migrations' };

/**
 * Brings the database to this program's schema: pending migrations in order, then the repeatable part (functions,
 * views, comments) as a whole if anything has changed. One process at a time; the others wait.
 * @throws WrongDatabaseError where a newer program has migrated the database already
 */
export async function migrate(database: Database): Promise<void> {
  const functions = await readRepeatable();
  const digest = await digestOf(functions);
  if (await isMigrated(database, digest)) return;
  await alone(database, () =>
    database.connection(async (session, orm) => {
      await refuseNewer(session);
      await applyPending(orm, HISTORY);
      if ((await readSetting(session, 'repeatable'))?.sha256 === digest) return;
      await database.script(await repeatableScript(functions));
      await keepSetting(session, 'repeatable', { sha256: digest });
    }),
  );
}

/** True where there is nothing to do, as at most starts: then no lock is taken. */
async function isMigrated(session: Session, digest: string): Promise<boolean> {
  const known = knownMigrations();
  const applied = await appliedMigrations(session);
  const isSame = applied.length === known.size && applied.every((hash) => known.has(hash));
  return isSame && (await readSetting(session, 'repeatable'))?.sha256 === digest;
}

interface Repeatable {
  readonly first: readonly string[];
  readonly feeds: string;
}

async function readRepeatable(): Promise<Repeatable> {
  const read = (name: string) => readFile(join(FOLDER, name), 'utf8');
  return { first: await Promise.all(REPEATABLE.map(read)), feeds: await read(FEEDS) };
}

/**
 * Holds the lock in a transaction that does nothing else, however long the work takes. A lock of the session's would be
 * taken on one connection and given back on another where PgBouncer hands them out by transaction: it would stay for
 * ever, and so would whoever waits for it.
 */
function alone<T>(database: Database, work: () => Promise<T>): Promise<T> {
  return database.transaction(async (session) => {
    await session.run(sql`
      select set_config('lock_timeout', '0', true), set_config('idle_in_transaction_session_timeout', '0', true)`);
    await session.run(sql`select pg_advisory_xact_lock(${LOCK})`);
    return work();
  });
}

/** Drizzle compares times only; a database from a newer program would look migrated. */
async function refuseNewer(session: Session): Promise<void> {
  const known = knownMigrations();
  const applied = await appliedMigrations(session);
  if (applied.some((hash) => !known.has(hash))) {
    throw new WrongDatabaseError(
      'the database has a schema that this version of toncenter-etl does not know',
      {
        hint: 'Use the version of toncenter-etl that migrated it last, or a newer one.',
      },
    );
  }
}

/** Hashes of this program's migrations. */
function knownMigrations(): ReadonlySet<string> {
  return new Set(readMigrationFiles(HISTORY).map(({ hash }) => hash));
}

/** Hashes of the migrations that the database has. */
async function appliedMigrations(session: Session): Promise<string[]> {
  const [history] = await session.rows(
    sql`select to_regclass('etl.migrations') is not null as there`,
    z.object({ there: z.boolean() }),
  );
  if (history?.there !== true) return [];
  const rows = await session.rows(sql`select hash from etl.migrations`, z.object({ hash: z.string() }));
  return rows.map(({ hash }) => hash);
}

/** Of all that the repeatable part is made of: each start of the program asks whether it has changed. */
async function digestOf({ first, feeds }: Repeatable): Promise<string> {
  const made = [commentsOf.toString(), datasetsView.toString()];
  const sources = [...first, feeds, await schema.digest(), await jobs.digest(), ...made];
  return createHash('sha256').update(sources.join('\n')).digest('hex');
}

/** Functions and views as they are kept in SQL, the list of datasets, and a comment for every table and column. */
async function repeatableScript({ first, feeds }: Repeatable): Promise<string> {
  const comments = (await loadTables()).flatMap(commentsOf);
  return ['begin;', ...first, datasetsView(await loadDatasets()), feeds, ...comments, 'commit;'].join('\n');
}

function commentsOf(table: PgTable): string[] {
  const { schema, name } = getTableConfig(table);
  const { comment, columns } = factsOf(table);
  const title = `"${schema ?? 'public'}"."${name}"`;
  const columnComments = Object.values(getTableColumns(table)).map(
    (column) => `comment on column ${title}."${column.name}" is ${literal(columns[column.name] ?? '')};`,
  );
  return [`comment on table ${title} is ${literal(comment)};`, ...columnComments];
}
