import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { getTableColumns, sql } from 'drizzle-orm';
import { getTableConfig, type PgTable } from 'drizzle-orm/pg-core';
import * as z from 'zod';
import { DatabaseUnavailableError } from '../../errors.ts';
import { answersOf } from '../connection/answers-of.ts';
import type { Database, Session } from '../connection/database.ts';
import { readsOnly } from '../connection/read-only.ts';
import { folder as jobs } from '../../dataset/jobs-folder.ts';
import { loadDatasets } from '../../dataset/load-jobs.ts';
import { loadTables } from '../load-tables.ts';
import { folder as schema } from '../schema-folder.ts';
import { factsOf } from '../schema/describe.ts';
import { keepSetting, readSetting } from '../settings.ts';
import { datasetsView } from './datasets-view.ts';
import { literal } from './literal.ts';
import { knownMigrations, MIGRATIONS, newerSchema } from './own-schema.ts';
import { holdLock } from '../connection/hold-lock.ts';

/**
 * Applied whole and in this order: the limiter of requests, what else the program calls, what analysts call, and, after
 * the list of datasets, what asks which of them feed it.
 */
const REPEATABLE = ['budget.sql', 'repeatable.sql', 'analyst.sql'];
const FEEDS = 'feeds.sql';

/**
 * Brings the database to this program's schema: pending migrations in order, then the repeatable part (functions,
 * views, comments) as a whole if it has changed. One process at a time; the others wait. Where nothing is pending it
 * only reads, so that a standby will do. `meanwhile` is called when the server has begun with what is pending.
 * @throws WrongDatabaseError where a newer program has migrated the database already
 * @throws DatabaseUnavailableError where something is pending and the server only reads
 */
export async function migrate(database: Database, meanwhile: () => void = () => undefined): Promise<void> {
  const functions = await readRepeatable();
  const digest = await digestOf(functions);
  if (await isCurrent(database, digest)) return;
  await requireWritable(database);
  // Two transactions: one would lock tables and then the views on them; a reader of a view locks them the other way round.
  const text = await alone(database, async (session) => {
    const applied = session.script(await pendingText(session));
    meanwhile();
    const [made] = await answersOf([repeatableText(functions), applied]);
    return made;
  });
  await alone(database, (session) => renewRepeatable(session, text, digest));
}

/** One text: a new database gets more than a hundred statements, and would wait for this program after each. */
async function pendingText(session: Session): Promise<string> {
  const applied = await readApplied(session);
  refuseNewer(applied);
  const pending = [...knownMigrations().values()].filter(({ hash }) => !applied.has(hash));
  if (pending.length === 0) return '';
  const texts = pending.flatMap(({ sql: statements, hash, folderMillis }) => [
    ...statements,
    `insert into etl.migrations (hash, created_at) values (${literal(hash)}, ${folderMillis})`,
  ]);
  return [...HISTORY, ...texts].join('\n;\n');
}

/** Which migrations the database has had. */
const HISTORY = [
  'create schema if not exists etl',
  'create table if not exists etl.migrations (id serial primary key, hash text not null, created_at bigint)',
];

async function renewRepeatable(session: Session, text: string, digest: string): Promise<void> {
  refuseNewer(await readApplied(session));
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
    await answersOf([session.run(settings), holdLock(session, 'migrate')]);
    return work(session);
  });
}

/** True where the database has this program's schema, and no less. */
async function isCurrent(database: Database, digest: string): Promise<boolean> {
  const applied = await readApplied(database);
  refuseNewer(applied);
  if ([...knownMigrations().keys()].some((hash) => !applied.has(hash))) return false;
  return (await readSetting(database, 'repeatable'))?.sha256 === digest;
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

/** The hashes of the migrations that the database has had. */
async function readApplied(session: Session): Promise<ReadonlySet<string>> {
  const [history] = await session.rows(
    sql`select to_regclass('etl.migrations') is not null as there`,
    z.object({ there: z.boolean() }),
  );
  if (history?.there !== true) return new Set();
  const applied = await session.rows(sql`select hash from etl.migrations`, z.object({ hash: z.string() }));
  return new Set(applied.map(({ hash }) => hash));
}

/** Drizzle compares times only; a database from a newer program would look migrated. */
function refuseNewer(applied: ReadonlySet<string>): void {
  const known = knownMigrations();
  if (![...applied].every((hash) => known.has(hash))) throw newerSchema();
}

/** Of all that the repeatable part is made of: each start of the program asks whether it has changed. */
async function digestOf({ first, feeds }: Repeatable): Promise<string> {
  const made = [commentsOf.toString(), datasetsView.toString()];
  const sources = [...first, feeds, await schema.digest(), await jobs.digest(), ...made];
  return createHash('sha256').update(sources.join('\n')).digest('hex');
}

/** Functions and views as they are kept in SQL, the list of datasets, and a comment for every table and column. */
async function repeatableText({ first, feeds }: Repeatable): Promise<string> {
  const comments = (await loadTables()).flatMap(commentsOf);
  return [...first, datasetsView(await loadDatasets()), feeds, ...comments].join('\n');
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
