import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { sql } from 'drizzle-orm';
import * as z from 'zod';
import { DatabaseUnavailableError, WrongDatabaseError } from '../errors.ts';
import { schemaVersion } from '../package.ts';
import { answersOf } from '../postgres/answers-of.ts';
import type { Database, Session } from '../postgres/database.ts';
import { readsOnly } from '../postgres/read-only.ts';
import { folder as jobs } from '../dataset/jobs-folder.ts';
import { loadDatasets } from '../dataset/load-jobs.ts';
import { loadTables } from '../postgres/load-tables.ts';
import { folder as schema } from '../postgres/tables-folder.ts';
import { datasetsView } from '../tables/datasets-view.ts';
import { commentsOf } from '../tables/describe.ts';
import { keepSetting, readSetting } from '../ledger/stored-settings.ts';
import { literal } from '../tables/literal.ts';
import { knownMigrations, MIGRATIONS, newerSchema } from '../postgres/own-schema.ts';
import { LOCKS } from '../locks.ts';
import { holdLock } from '../postgres/hold-lock.ts';

/**
 * Applied whole and in this order: the limiter of requests, what else the program calls, what analysts call, the curated
 * views, and, after the list of datasets, what asks which of them feed it.
 */
const REPEATABLE = ['budget.sql', 'repeatable.sql', 'analyst.sql', 'curated.sql'];
const FEEDS = 'feeds.sql';

/**
 * Brings the database to this program's schema: pending migrations in order, then the repeatable part (functions,
 * views, comments) as a whole if it has changed. One process at a time; the others wait. Where nothing is pending it
 * only reads, so that a standby will do. `meanwhile` is called when the server has begun with what is pending.
 * @throws WrongDatabaseError if a newer program has migrated the database already, or another one uses its schemas
 * @throws DatabaseUnavailableError if something is pending and the server only reads
 */
export async function migrate(database: Database, meanwhile: () => void = () => undefined): Promise<void> {
  const functions = await readRepeatable();
  const digest = await digestOf(functions);
  const applied = await readApplied(database);
  if ((await repeatableOf(database, applied)) === digest) return;
  await requireWritable(database);
  // Two transactions: one would lock tables and then the views on them; a reader of a view locks them the other way round.
  const text = await alone(database, async (session) => {
    const migrated = session.script(await pendingText(session));
    meanwhile();
    const [made] = await answersOf([repeatableText(functions), migrated]);
    return made;
  });
  await alone(database, (session) => renewRepeatable(session, text, digest));
}

/**
 * Makes sure that the database has this program's schema. Changes nothing: a daemon of an older version may be at work
 * there, which a migration would end.
 * @throws WrongDatabaseError if it has another one, or none
 */
export async function requireSchema(database: Database): Promise<void> {
  const digest = await digestOf(await readRepeatable());
  const applied = await readApplied(database);
  const repeatable = await repeatableOf(database, applied);
  if (repeatable === digest) return;
  if (applied.size === 0) {
    await requireFree(database, applied);
    throw new WrongDatabaseError(
      `nothing was crawled yet: ${database.label} has no schema of toncenter-etl`,
      {
        hint: 'Run `toncenter-etl backfill` or `sync`, which make it, or `migrate` alone; or correct DATABASE_URL.',
      },
    );
  }
  const own = await versionOf(knownMigrations().size, digest);
  throw new WrongDatabaseError(
    `the database's schema is version ${await versionOf(applied.size, repeatable)}, this program needs ${own}`,
    {
      hint: 'Run `toncenter-etl migrate`, which ends daemons of an older version; or use the version that migrated it last.',
    },
  );
}

/** The last migration, and which functions and views came with it. */
async function versionOf(migrations: number, repeatable: string | undefined): Promise<string> {
  return `${await schemaVersion(migrations)}+${repeatable?.slice(0, 8) ?? 'nothing'}`;
}

/** One text: a new database gets more than a hundred statements, and would wait for this program after each. */
async function pendingText(session: Session): Promise<string> {
  const applied = await readApplied(session);
  const pending = [...knownMigrations().values()].filter(({ hash }) => !applied.has(hash));
  if (pending.length === 0) return '';
  await requireFree(session, applied);
  const there = new Set((await session.rows(SCHEMAS, Name)).map(({ name }) => name));
  const texts = pending.flatMap(({ sql: statements, hash, folderMillis }) => [
    ...statements,
    `insert into etl.migrations (hash, created_at) values (${literal(hash)}, ${folderMillis})`,
  ]);
  // Of a schema that is there, whoever made it lets this role work in it; without the right to create schemas in the
  // database, "if not exists" is refused, too.
  const isThere = (text: string) =>
    there.has(/^\s*create schema (?:if not exists )?"?(\w+)/i.exec(text)?.[1] ?? '');
  return [...HISTORY, ...texts].filter((text) => !isThere(text)).join('\n;\n');
}

const Name = z.object({ name: z.string() });
const SCHEMAS = sql`select nspname::text as name from pg_namespace`;

/** Which migrations the database has had. */
const HISTORY = [
  'create schema if not exists etl',
  'create table if not exists etl.migrations (id serial primary key, hash text not null, created_at bigint)',
];

/** True if etl.migrations is this program's own: another one may have a table of that name. */
const KEEPS_HISTORY = sql`(
  select count(*) = 3 from pg_attribute where attrelid = to_regclass('etl.migrations') and attname in ('id', 'hash', 'created_at'))`;

const Uses = z.object({ ours: z.boolean(), others: z.string().nullable() });

/**
 * Makes sure that what is pending finds its place.
 * @throws WrongDatabaseError if another program uses the schemas, or etl.migrations lacks what the database has had
 */
async function requireFree(session: Session, applied: ReadonlySet<string>): Promise<void> {
  const known = [...knownMigrations().values()];
  // Whatever was applied, all before it was, too.
  const had = known.slice(0, known.findLastIndex(({ hash }) => applied.has(hash)) + 1);
  const [uses] = await session.rows(
    sql`
      select to_regclass('etl.coverage') is not null and to_regclass('etl.partitions') is not null as ours,
        (select min(n.nspname || '.' || u.name) from pg_namespace n join (
            select relnamespace as schema, relname as name from pg_class where not (${KEEPS_HISTORY} and relname ~ '^migrations_')
              and oid is distinct from (select to_regclass('etl.migrations') where ${KEEPS_HISTORY})
            union all select pronamespace, proname from pg_proc) u on u.schema = n.oid
          where n.nspname in ('ton', 'etl', 'etl_partitions')) as others`,
    Uses,
  );
  const lost = (uses?.ours === true && applied.size === 0 ? known : had).filter(
    ({ hash }) => !applied.has(hash),
  );
  if (lost.length > 0) {
    const values = lost.map(({ hash, folderMillis }) => `(${literal(hash)}, ${folderMillis})`).join(', ');
    throw new WrongDatabaseError(
      'etl.migrations lacks migrations that the database has had: somebody has changed it by hand',
      {
        hint: `Put them back, as the owner, if this version of toncenter-etl has worked with it: ${HISTORY[1] ?? ''}; insert into etl.migrations (hash, created_at) values ${values}. Else restore a backup.`,
      },
    );
  }
  if (applied.size > 0 || uses?.others == null) return;
  throw new WrongDatabaseError(`another program uses the database's schemas: ${uses.others} is not ours`, {
    hint: 'Schemas ton, etl and etl_partitions must be free: use a database of its own, or move what is in them.',
  });
}

async function renewRepeatable(session: Session, text: string, digest: string): Promise<void> {
  await readApplied(session);
  if ((await readSetting(session, 'repeatable'))?.sha256 === digest) return;
  await session.script(text);
  await keepSetting(session, 'repeatable', { sha256: digest });
}

interface Repeatable {
  readonly first: readonly string[];
  readonly feeds: string;
}

async function readRepeatable(): Promise<Repeatable> {
  const read = (name: string) => readFile(join(MIGRATIONS, name), 'utf8');
  return { first: await Promise.all(REPEATABLE.map(read)), feeds: await read(FEEDS) };
}

/** Works in a transaction while no other process migrates, however long that takes. */
function alone<T>(database: Database, work: (session: Session) => Promise<T>): Promise<T> {
  return database.transaction(async (session) => {
    const settings = sql`
      select set_config('lock_timeout', '0', true), set_config('idle_in_transaction_session_timeout', '0', true)`;
    await answersOf([session.run(settings), session.run(TABLESPACE), holdLock(session, LOCKS.migrate)]);
    return work(session);
  });
}

/** Partitioned tables refuse a default tablespace that is the database's own anyway; another one is the operator's choice. */
const TABLESPACE = sql`
  select set_config('default_tablespace', '', true)
  from pg_database d join pg_tablespace t on t.oid = d.dattablespace
  where d.datname = current_database() and t.spcname = current_setting('default_tablespace')`;

/** Which repeatable part the database has; undefined where a migration is pending before it. */
async function repeatableOf(session: Session, applied: ReadonlySet<string>): Promise<string | undefined> {
  if ([...knownMigrations().keys()].some((hash) => !applied.has(hash))) return undefined;
  return (await readSetting(session, 'repeatable'))?.sha256;
}

async function requireWritable(database: Database): Promise<void> {
  if (!(await readsOnly(database))) return;
  throw new DatabaseUnavailableError(
    `${database.label} lacks a part of this version's schema, and cannot get it: the server only reads`,
    {
      hint: 'Run `toncenter-etl migrate` on the primary: a standby has it at once. Or wait until this one is promoted.',
    },
  );
}

/**
 * The hashes of the migrations that the database has had.
 * @throws WrongDatabaseError where a newer program has migrated it: Drizzle, which compares times only, would not see it
 */
async function readApplied(session: Session): Promise<ReadonlySet<string>> {
  const [history] = await session.rows(
    sql`select ${KEEPS_HISTORY} as there`,
    z.object({ there: z.boolean() }),
  );
  if (history?.there !== true) return new Set();
  const applied = await session.rows(sql`select hash from etl.migrations`, z.object({ hash: z.string() }));
  if (!applied.every(({ hash }) => knownMigrations().has(hash))) throw newerSchema();
  return new Set(applied.map(({ hash }) => hash));
}

/** Of all that the repeatable part is made of, the same from the sources and from the built program. */
async function digestOf({ first, feeds }: Repeatable): Promise<string> {
  const sources = [...first, feeds, await schema.digest(), await jobs.digest()];
  return createHash('sha256').update(sources.join('\n')).digest('hex');
}

/** Functions and views as they are kept in SQL, the list of datasets, and a comment for every table and column. */
async function repeatableText({ first, feeds }: Repeatable): Promise<string> {
  const comments = (await loadTables()).flatMap(commentsOf);
  return [...first, datasetsView(await loadDatasets()), feeds, ...comments].join('\n');
}
