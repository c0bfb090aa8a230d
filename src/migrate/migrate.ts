import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { sql } from 'drizzle-orm';
import * as z from 'zod';
import { DatabaseUnavailableError, WrongDatabaseError } from '../errors.ts';
import { schemaVersion } from '../package.ts';
import { answersOf } from '../postgres/sql.ts';
import {
  type Database,
  type Session,
  knownMigrations,
  MIGRATIONS,
  newerSchema,
  holdLock,
  oneRow,
  oneValue,
  readsOnly,
} from '../postgres/database.ts';
import { folder as jobs } from '../dataset/jobs-folder.ts';
import { loadDatasets } from '../dataset/load-jobs.ts';
import { loadTables } from '../postgres/load-tables.ts';
import { folder as schema } from '../postgres/tables-folder.ts';
import { commentsOf, literal, ownTablesOf } from '../tables/describe.ts';
import { keepSetting, readSetting } from '../ledger/stored-settings.ts';
import { LOCKS } from '../locks.ts';
import type { AnyJob, Dataset } from '../dataset/dataset.ts';
import { needsOf } from '../dataset/job.ts';
import type { LookupWalk } from '../dataset/collection.ts';

/**
 * Applied as a whole and in this order: the rate limiter, functions that the program calls, functions that analysts
 * call, the curated views. FEEDS needs the list of datasets, and comes after it.
 */
const REPEATABLE = ['budget.sql', 'repeatable.sql', 'analyst.sql', 'curated.sql'];
const FEEDS = 'feeds.sql';

/**
 * Brings the database to this program's schema: pending migrations in order, then, if it has changed, the whole repeatable
 * part (functions, views, comments). One process at a time; the others wait. If nothing is pending it only reads, so a
 * standby will do. `meanwhile` is called when the server has begun to apply what is pending. `onlyIfNew` requires an
 * existing schema to be up to date.
 * @throws WrongDatabaseError if a newer program has migrated the database already, or another program uses its schemas
 * @throws DatabaseUnavailableError if something is pending and the server is read-only
 */
export async function migrate(
  database: Database,
  { meanwhile, onlyIfNew = false }: { meanwhile?: (() => void) | undefined; onlyIfNew?: boolean } = {},
): Promise<void> {
  const functions = await readRepeatable();
  const digest = await digestOf(functions);
  const applied = await readApplied(database);
  if ((await repeatableOf(database, applied)) === digest) return;
  if (onlyIfNew && applied.size > 0) return requireSchema(database);
  await requireWritable(database);
  // Two transactions, to avoid a deadlock: a single one would lock tables and then their views, and a reader of a
  // view locks them in the other order.
  const text = await alone(database, async (session) => {
    const migrated = session.script(await pendingText(session));
    meanwhile?.();
    const [made] = await answersOf([repeatableText(functions), migrated]);
    return made;
  });
  await alone(database, (session) => renewRepeatable(session, text, digest));
}

/**
 * Requires that the database has this program's schema. Changes nothing: a daemon of an older version may be running,
 * and a migration would end it.
 * @throws WrongDatabaseError if the database has another schema, or none
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
        hint: 'Run `toncenter-etl backfill` or `sync`, which create it, or `migrate` alone; or correct DATABASE_URL.',
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

/** The version of a schema: the number of its last migration, and a digest of the repeatable part. */
async function versionOf(migrations: number, repeatable: string | undefined): Promise<string> {
  return `${await schemaVersion(migrations)}+${repeatable?.slice(0, 8) ?? 'nothing'}`;
}

/**
 * The pending migrations as one text: a new database needs more than a hundred statements, each of which would cost a
 * round trip.
 */
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
  // Skips `create schema` if the schema exists: its creator may have let this role use it, and without the right to
  // create schemas even "if not exists" is refused.
  const isThere = (text: string) =>
    there.has(/^\s*create schema (?:if not exists )?"?(\w+)/i.exec(text)?.[1] ?? '');
  return [...HISTORY, ...texts].filter((text) => !isThere(text)).join('\n;\n');
}

const Name = z.object({ name: z.string() });
const SCHEMAS = sql`select nspname::text as name from pg_namespace`;

const HISTORY = [
  'create schema if not exists etl',
  'create table if not exists etl.migrations (id serial primary key, hash text not null, created_at bigint)',
];

/** True if etl.migrations belongs to this program: another program may have a table of that name. */
const KEEPS_HISTORY = sql`(
  select count(*) = 3 from pg_attribute where attrelid = to_regclass('etl.migrations') and attname in ('id', 'hash', 'created_at'))`;

const Uses = z.object({ ours: z.boolean(), others: z.string().nullable() });

/**
 * Requires that pending migrations can be applied.
 * @throws WrongDatabaseError if another program uses the schemas, or etl.migrations lacks migrations that were applied
 */
async function requireFree(session: Session, applied: ReadonlySet<string>): Promise<void> {
  const known = [...knownMigrations().values()];
  // If a migration was applied, all earlier ones were, too.
  const had = known.slice(0, known.findLastIndex(({ hash }) => applied.has(hash)) + 1);
  const uses = await oneRow(
    session,
    sql`
      select to_regclass('etl.coverage') is not null and to_regclass('etl.partitions') is not null as ours,
        (select min(n.nspname || '.' || u.name) from pg_namespace n join (
            select relnamespace as schema, relname as name from pg_class where not (${KEEPS_HISTORY} and relname ~ '^migrations_')
              and oid is distinct from (select to_regclass('etl.migrations') where ${KEEPS_HISTORY})
            union all select pronamespace, proname from pg_proc) u on u.schema = n.oid
          where n.nspname in ('ton', 'etl', 'etl_partitions')) as others`,
    Uses,
  );
  const lost = (uses.ours && applied.size === 0 ? known : had).filter(({ hash }) => !applied.has(hash));
  if (lost.length > 0) {
    const values = lost.map(({ hash, folderMillis }) => `(${literal(hash)}, ${folderMillis})`).join(', ');
    throw new WrongDatabaseError(
      'etl.migrations lacks migrations that were applied: it was changed by hand',
      {
        hint: `If this version of toncenter-etl has worked with the database, put them back as the owner: ${HISTORY[1] ?? ''}; insert into etl.migrations (hash, created_at) values ${values}. Otherwise restore a backup.`,
      },
    );
  }
  if (applied.size > 0 || uses.others === null) return;
  throw new WrongDatabaseError(
    `another program uses the database's schemas: ${uses.others} does not belong to toncenter-etl`,
    {
      hint: 'The schemas ton, etl and etl_partitions must be empty: use another database, or move what is in them.',
    },
  );
}

async function renewRepeatable(session: Session, text: string, digest: string): Promise<void> {
  await readApplied(session);
  if ((await readSetting(session, 'repeatable'))?.sha256 === digest) return;
  await session.script(text);
  await keepSetting(session, 'repeatable', { sha256: digest });
}

type Repeatable = Awaited<ReturnType<typeof readRepeatable>>;

async function readRepeatable() {
  const read = (name: string) => readFile(join(MIGRATIONS, name), 'utf8');
  return { first: await Promise.all(REPEATABLE.map(read)), feeds: await read(FEEDS) };
}

/** Runs `work` in a transaction while no other process migrates, and waits for as long as another one does. */
function alone<T>(database: Database, work: (session: Session) => Promise<T>): Promise<T> {
  return database.transaction(async (session) => {
    const settings = sql`
      select set_config('lock_timeout', '0', true), set_config('idle_in_transaction_session_timeout', '0', true)`;
    await answersOf([session.run(settings), session.run(TABLESPACE), holdLock(session, LOCKS.migrate)]);
    return work(session);
  });
}

/**
 * Clears default_tablespace if it names the database's own tablespace: partitioned tables reject that. Another
 * tablespace is the operator's choice.
 */
const TABLESPACE = sql`
  select set_config('default_tablespace', '', true)
  from pg_database d join pg_tablespace t on t.oid = d.dattablespace
  where d.datname = current_database() and t.spcname = current_setting('default_tablespace')`;

/** The digest of the database's repeatable part; undefined if a migration is still pending. */
async function repeatableOf(session: Session, applied: ReadonlySet<string>): Promise<string | undefined> {
  if ([...knownMigrations().keys()].some((hash) => !applied.has(hash))) return undefined;
  return (await readSetting(session, 'repeatable'))?.sha256;
}

async function requireWritable(database: Database): Promise<void> {
  if (!(await readsOnly(database))) return;
  throw new DatabaseUnavailableError(`${database.label} needs a migration, but the server is read-only`, {
    hint: 'Run `toncenter-etl migrate` on the primary: its standbys follow at once. Or wait until this server is promoted.',
  });
}

/**
 * The hashes of the applied migrations.
 * @throws WrongDatabaseError if a newer program has migrated the database. Drizzle compares only times, and would not
 * notice.
 */
async function readApplied(session: Session): Promise<ReadonlySet<string>> {
  if (!(await oneValue(session, sql`select ${KEEPS_HISTORY}`, z.boolean()))) return new Set();
  const applied = await session.rows(sql`select hash from etl.migrations`, z.object({ hash: z.string() }));
  if (!applied.every(({ hash }) => knownMigrations().has(hash))) throw newerSchema();
  return new Set(applied.map(({ hash }) => hash));
}

/** The digest of the repeatable part's sources. It is the same from the sources and from the built program. */
async function digestOf({ first, feeds }: Repeatable): Promise<string> {
  const sources = [...first, feeds, await schema.digest(), await jobs.digest()];
  return createHash('sha256').update(sources.join('\n')).digest('hex');
}

/** The functions and views from the SQL files, the list of datasets, and a comment for each table and column. */
async function repeatableText({ first, feeds }: Repeatable): Promise<string> {
  const comments = (await loadTables()).flatMap(commentsOf);
  return [...first, datasetsView(await loadDatasets()), feeds, ...comments].join('\n');
}

/** The view etl.datasets: every dataset and its own tables. */
function datasetsView(datasets: readonly Dataset<AnyJob>[]): string {
  const subjectsOf = (walk: LookupWalk): string[] => {
    const named = (key: string, from: string) =>
      `select ${literal(walk.name)} as walk, ${key} as subject from ${from}`;
    return [
      ...(walk.subjects.watched ? [named('r.address', 'etl.watch r')] : []),
      ...walk.subjects.seenIn.map(({ relation, key, time }) =>
        time === 'utime'
          ? `(${named(`r.${key}`, `${relation} r where r.utime >= $2 and r.utime < $3 order by r.utime desc limit 1000000`)})`
          : `(${named(`r.${key}`, `${relation} r limit 1000000`)})`,
      ),
    ];
  };
  const rows = datasets.map(({ name, job }) => {
    const own = ownTablesOf({ name, job }, datasets).map(([table]) => table);
    const kind = job.kind === 'stream' ? 'stream' : 'list';
    const lookups = job.kind === 'collection' ? job.walks.filter((walk) => walk.kind === 'lookup') : [];
    const subjects = lookups.flatMap(subjectsOf);
    const needed = job.kind === 'stream' ? Object.keys(job.checks).flatMap(needsOf) : [];
    const values = [
      literal(name),
      literal(kind),
      String(job.core),
      literal(job.title),
      `array[${own.map(literal).join(', ')}]::text[]`,
      subjects.length === 0 ? 'null::text' : literal(subjects.join(' union all ')),
      String(lookups.some((walk) => walk.subjects.onlyIfSeen === true)),
      `array[${needed.map(literal).join(', ')}]::text[]`,
    ];
    return `(${values.join(', ')})`;
  });
  return `create or replace view etl.datasets as
    select * from (values ${rows.join(',\n')}) datasets (dataset, kind, core, title, tables, subjects, only_if_seen, rests_on);
    ${Object.entries(DATASETS_COLUMNS)
      .map(([column, comment]) => `comment on column etl.datasets.${column} is ${literal(comment)};`)
      .join('\n')}
    comment on view etl.datasets is ${literal('Every dataset that can be read, whether it has been or not: one row for each file in jobs/.')};`;
}

const DATASETS_COLUMNS = {
  dataset: 'Name of a dataset, as commands and ETL_DATASETS take it.',
  kind: 'How it is read: a stream has a range of time that is covered. A list, or a look-up by name (also called list here), is read again from time to time.',
  core: 'True if ETL_DATASETS=core, the default, reads the dataset.',
  title: 'What the dataset is, in one line.',
  tables: "Tables of schema ton that are the dataset's own; others may write there too.",
  subjects:
    'Query for what the dataset looks up by name; null if it looks up nothing. It returns each walk with the subjects that the watch list and stored rows name, from $2 to $3.',
  only_if_seen: 'True if accounts that are not watched are looked up with ETL_ACCOUNTS=seen alone.',
  rests_on: 'Datasets without whose certificates its own are withdrawn.',
};
