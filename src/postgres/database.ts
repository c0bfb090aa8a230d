import { join } from 'node:path';
import { drizzle } from 'drizzle-orm/node-postgres';
import { sql, type SQL } from 'drizzle-orm';
import pg from 'pg';
import * as z from 'zod';
import { readMigrationFiles, type MigrationMeta } from 'drizzle-orm/migrator';
import {
  codeOf,
  DatabaseError,
  DatabaseUnavailableError,
  ServerChangedError,
  WrongDatabaseError,
} from '../errors.ts';
import {
  streamAsText,
  type TextOptions,
  copyIn,
  type CopyPieces,
  copyOut,
  answersOf,
  textOf,
  lastRow,
  PINNED,
} from './sql.ts';
import { chooseServer, firstAnswer, connectionOf, type Identity } from './servers.ts';
import { isNotTried, translate } from './translate.ts';
import { packageRoot } from '../package.ts';
import type { LockName } from '../locks.ts';
import { pages } from '../tables/etl/pages.ts';

/** The database's clock, unix seconds with a fraction. */
export async function readClock(session: Session): Promise<number> {
  return oneValue(session, sql`select extract(epoch from clock_timestamp())::float8`, z.number());
}

/** The database's clock to the microsecond, as text for comparisons in statements. */
export async function databaseTime(session: Session): Promise<string> {
  return oneValue(session, sql`select clock_timestamp()::text`, z.string());
}

/** True if the server is a standby, or if the role or the database makes the session read-only. */
export async function readsOnly(session: Pick<Session, 'rows'>): Promise<boolean> {
  return oneValue(session, sql`select current_setting('transaction_read_only') = 'on'`, z.boolean());
}

const Facts = z.object({ postgres: z.string(), apiVersion: z.string().nullable() });

/**
 * The server's version, and the build of the API that sent the newest page. The build is null if no page was read or
 * if the API did not send it.
 */
export async function readVersions(session: Session): Promise<z.infer<typeof Facts>> {
  const isThere = await oneValue(session, sql`select to_regclass('etl.pages') is not null`, z.boolean());
  const newest = isThere
    ? sql`(select ${pages.api_version} from ${pages} where ${pages.api_version} is not null
          order by ${pages.id} desc limit 1)`
    : sql`null::text`;
  return oneRow(
    session,
    sql`select current_setting('server_version') as postgres, ${newest} as "apiVersion"`,
    Facts,
  );
}

/**
 * Set in each transaction and not once a session, so that PgBouncer in transaction mode changes nothing. The timeouts
 * keep a frozen process from holding a row that others need, and a waiting one from waiting forever. The protocols
 * of leases and commits need READ COMMITTED: they must see what others committed while they waited, whatever default
 * a role or database sets.
 */
const LIMITS = `set local lock_timeout = '10s'`;
const BEGIN = `${PINNED}; set local idle_in_transaction_session_timeout = '5s'`;

/** A snapshot must contain all rows: if a policy hides some, that is an error. */
const WHOLE = `set local row_security = off`;

/** The start time of the transaction, as text that means the same in every session. */
const BEGAN = `to_char(now() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as began`;
const Began = z.object({ began: z.string() });

/**
 * Limits the life of connections: an old one may lead to a server that was replaced, and a new one goes to the
 * promoted server.
 */
const LIFE_SECONDS = 60;

/**
 * Runs statements: on the pool, each in a transaction of its own, or in one transaction. Within one transaction, statements
 * that do not need each other's answers are sent at once and run in that order; `answersOf` waits for them.
 */
export interface Session {
  /** Runs a statement and parses each row that it returns. */
  rows<T>(query: SQL, row: z.ZodType<T>): Promise<T[]>;
  /** Runs a statement, and returns the number of rows that it touched. */
  run(query: SQL): Promise<number>;
  /** Runs several statements as one text, such as a migration: all of them or none. */
  script(text: string): Promise<void>;
  /**
   * Runs statements without parameters, of which the last one is a `copy … from stdin`, and returns the number of
   * rows that it stored. If the pieces are an async iterable, send nothing else until it resolves.
   */
  copyIn(statements: SQL, pieces: CopyPieces): Promise<number>;
  /** Runs a `copy … to stdout` without parameters. The data is valid only until `onData` returns. */
  copyOut(statement: SQL, onData: (data: Buffer) => void): Promise<void>;
}

/** The row of a query that always returns one, such as a count. */
export async function oneRow<T>(session: Pick<Session, 'rows'>, query: SQL, row: z.ZodType<T>): Promise<T> {
  const [one] = await session.rows(query, row);
  if (one === undefined) throw new DatabaseError('a query that always returns a row returned none');
  return one;
}

/** The single value of a query that always returns one row, such as a count. */
export async function oneValue<T>(
  session: Pick<Session, 'rows'>,
  query: SQL,
  value: z.ZodType<T>,
): Promise<T> {
  return value.parse(Object.values(await oneRow(session, query, AnyRow))[0]);
}

const AnyRow = z.record(z.string(), z.unknown());

/** A session within a transaction. */
export interface OpenTransaction extends Session {
  /** Its start time by the server's clock, which its rows get as a parameter. */
  readonly began: string;
}

export interface TransactionHow {
  readonly onWarning?: ((text: string) => void) | undefined;
  /** True: all statements see the rows as of the start, and fail if a policy would hide some. Default: false. */
  readonly isSnapshot?: boolean;
  /**
   * When it is aborted, the running statement is cancelled, no further one begins, and the transaction ends with an
   * AbortError.
   */
  readonly signal?: AbortSignal;
}

export interface Database extends Session {
  /** Host, port and database name. Never contains the password. */
  readonly label: string;
  /** Server version as a number: 150004 is 15.4. */
  readonly version: number;
  /**
   * Runs `work` in one transaction: commits if it resolves, rolls back if it throws. `onWarning` receives the
   * server's warnings.
   */
  transaction<T>(work: (session: OpenTransaction) => Promise<T>, how?: TransactionHow): Promise<T>;
  /**
   * Runs one statement of the user in a transaction of its own, with values as Postgres prints them. Returns its
   * command tag.
   */
  streamAsText(text: string, options: TextOptions): Promise<string>;
  close(): Promise<void>;
}

/** Identifies a server: its cluster, and its timeline, which grows with each promotion. A standby's timeline is null. */
const ServerRow = z.object({ system: z.string(), timeline: z.number().nullable() });

type ServerFacts = z.infer<typeof ServerRow>;

/** Columns that identify the server. Any role may query them. */
const COLUMNS = `(select system_identifier::text from pg_control_system()) as system,
  case when not pg_is_in_recovery()
    then ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int end as timeline`;

/** Used if the role may not call these functions. */
const UNKNOWN = `'' as system, null as timeline`;

/**
 * The server that a run writes to. A promoted standby may lack what its primary has acknowledged, so what a run
 * remembers may not be true there.
 */
function createIdentity(): Identity {
  let isKnown = true;
  let own: ServerFacts | undefined;
  return {
    columns: () => (isKnown ? COLUMNS : UNKNOWN),
    giveUp: () => {
      const wasKnown = isKnown;
      isKnown = false;
      return wasKnown;
    },
    check: (row) => {
      const seen = ServerRow.parse(row);
      if (!isKnown) return;
      own = { system: own?.system ?? seen.system, timeline: own?.timeline ?? seen.timeline };
      requireSame(own, seen);
    },
  };
}

function requireSame(own: ServerFacts, seen: ServerFacts): void {
  if (own.system === seen.system && (seen.timeline ?? own.timeline) === own.timeline) return;
  const difference =
    own.system === seen.system
      ? `its timeline is ${String(seen.timeline)} instead of ${String(own.timeline)}, because a standby was promoted`
      : `its system identifier is ${seen.system} instead of ${own.system}`;
  throw new ServerChangedError(`the database server changed: ${difference}`, {
    hint: 'It may lack the last commits; these are read again from the API. If the old server still runs, stop it. Run `toncenter-etl verify` over the time of the failover.',
  });
}

interface DatabaseOptions {
  readonly url: string;
  /** Shown in pg_stat_activity. */
  readonly applicationName: string;
  readonly maxConnections?: number;
}

/**
 * Connects to the first server that answers, and checks its version.
 * @throws DatabaseUnavailableError, DatabaseAccessError or WrongDatabaseError
 */
export async function openDatabase({
  url,
  applicationName,
  maxConnections = 8,
}: DatabaseOptions): Promise<Database> {
  const connection = connectionOf(url);
  const identity = createIdentity();
  const choice = chooseServer(connection, identity);
  const pool = new pg.Pool({
    ...connection.login,
    Client: choice.Client,
    verify: choice.verify,
    max: maxConnections,
    pipeline: true,
    application_name: applicationName,
    connectionTimeoutMillis: connection.connectTimeoutMs,
    // If a server vanishes silently, this notices it within minutes. With the system's default it takes two hours.
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    maxLifetimeSeconds: LIFE_SECONDS,
  });
  // The pool replaces an idle connection that breaks. A query that runs on it gets its own error.
  pool.on('error', ignore);
  // While its own query runs, the pool listens for only one error. A dying server causes two (a last message, and the
  // closed socket), and an unhandled second one would end the process.
  pool.on('connect', (client) => client.on('error', ignore));
  try {
    const version = await firstAnswer(pool, choice);
    return assemble(pool, { label: connection.label, version }, identity);
  } catch (error) {
    await pool.end();
    throw translate(error);
  }
}

function assemble(pool: pg.Pool, facts: Pick<Database, 'label' | 'version'>, identity: Identity): Database {
  return {
    ...facts,
    ...sessionOnPool(pool),
    transaction: (work, { onWarning, isSnapshot = false, signal } = {}) =>
      withClient(pool, (client) =>
        withWarnings(client, onWarning, () =>
          inTransaction(client, async () => {
            const { began } = await begin(client, { identity, isSnapshot });
            const session = { ...transactionOn(client), began };
            return signal === undefined
              ? work(session)
              : untilAborted(sessionOnPool(pool), { session, signal }, work);
          }),
        ),
      ),
    streamAsText: (text, options) => withClient(pool, (client) => streamAsText(client, text, options)),
    close: () => pool.end(),
  };
}

/** Runs each statement in a transaction of its own, on any connection of the pool, in one round trip if possible. */
function sessionOnPool(pool: pg.Pool): Session {
  const alone = <T>(work: (session: Session) => Promise<T>): Promise<T> =>
    withClient(pool, async (client) => {
      const began = client.query(`begin isolation level read committed; ${BEGIN}`);
      const [, result] = await answersOf([began, work(transactionOn(client)), client.query('commit')]);
      return result;
    });
  // The commit cannot be sent ahead if the data is still being produced, or if the reader decides when it ends.
  const piecemeal = <T>(work: (session: Session) => Promise<T>): Promise<T> =>
    withClient(pool, (client) =>
      inTransaction(client, async () => {
        await client.query(`begin isolation level read committed; ${BEGIN}`);
        return work(transactionOn(client));
      }),
    );
  return {
    rows: (query, row) => alone((session) => session.rows(query, row)),
    run: (query) => alone((session) => session.run(query)),
    script: (text) => alone((session) => session.script(text)),
    copyIn: (statements, pieces) => piecemeal((session) => session.copyIn(statements, pieces)),
    copyOut: (statement, onData) => piecemeal((session) => session.copyOut(statement, onData)),
  };
}

/**
 * Statements on one connection, within a transaction. If an earlier statement failed, the server rejects the later
 * ones. They then fail with the error of the earlier one.
 */
function transactionOn(client: pg.PoolClient): Session {
  const orm = drizzle(client);
  let cause: unknown;
  const explained = <T>(answer: Promise<T>): Promise<T> =>
    answer.catch((thrown: unknown) => {
      const error = translate(thrown);
      if (isNotTried(error)) throw cause ?? error;
      cause = error;
      throw error;
    });
  const execute = (query: SQL) => explained(orm.execute(query));
  return {
    rows: async (query, row) => (await execute(query)).rows.map((raw) => row.parse(raw)),
    run: async (query) => (await execute(query)).rowCount ?? 0,
    script: async (text) => {
      await explained(client.query(text));
    },
    copyIn: (statements, pieces) => explained(copyIn(client, textOf(statements), pieces)),
    copyOut: (statement, onData) => explained(copyOut(client, textOf(statement), onData)),
  };
}

async function withClient<T>(pool: pg.Pool, work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect().catch((error: unknown) => {
    throw translate(error);
  });
  // The server's last message when it ended an idle session. Later errors only say that the session has ended.
  let last: Error | undefined;
  const onError = (error: Error) => {
    if (error instanceof pg.DatabaseError) last ??= error;
  };
  client.on('error', onError);
  let broken: boolean | Error = false;
  try {
    return await work(client);
  } catch (error) {
    const outcome = translate(error);
    const translated =
      last !== undefined && outcome instanceof DatabaseUnavailableError ? translate(last) : outcome;
    broken = (codeOf(translated) ?? 'database') !== 'database';
    throw translated;
  } finally {
    client.off('error', onError);
    client.release(broken);
  }
}

const ignore = () => undefined;

/** Severities that are not warnings. The server may print other levels in its own language. */
const QUIET = new Set(['NOTICE', 'INFO', 'LOG', 'DEBUG']);

async function withWarnings<T>(
  client: pg.PoolClient,
  onWarning: ((text: string) => void) | undefined,
  work: () => Promise<T>,
): Promise<T> {
  if (onWarning === undefined) return work();
  const onNotice = ({ severity, message }: { severity: string | undefined; message: string | undefined }) => {
    if (!QUIET.has(severity ?? '')) onWarning(`${severity ?? ''}: ${message ?? ''}`);
  };
  client.on('notice', onNotice);
  try {
    return await work();
  } finally {
    client.off('notice', onNotice);
  }
}

/** Time between two attempts to cancel: an attempt between two statements cancels nothing. */
const CANCEL_MS = 500;

/** Cancels by process id and start time of the transaction: a pooler may have lent the session to another client since. */
async function untilAborted<T>(
  besides: Session,
  { session, signal }: { readonly session: OpenTransaction; readonly signal: AbortSignal },
  work: (session: OpenTransaction) => Promise<T>,
): Promise<T> {
  const pid = await oneValue(session, sql`select pg_backend_pid()`, z.number());
  let timer: NodeJS.Timeout | undefined;
  const cancel = () => {
    timer ??= setInterval(cancel, CANCEL_MS);
    besides
      .run(
        sql`select pg_cancel_backend(pid) from pg_stat_activity
            where pid = ${pid} and xact_start = ${session.began}::timestamptz`,
      )
      .catch(ignore);
  };
  signal.addEventListener('abort', cancel);
  try {
    signal.throwIfAborted();
    return await work({
      ...session,
      rows: async (query, row) => {
        signal.throwIfAborted();
        return session.rows(query, row);
      },
      run: async (query) => {
        signal.throwIfAborted();
        return session.run(query);
      },
    });
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    clearInterval(timer);
    signal.removeEventListener('abort', cancel);
  }
}

async function inTransaction<T>(client: pg.PoolClient, work: () => Promise<T>): Promise<T> {
  try {
    const result = await work();
    await client.query('commit');
    return result;
  } catch (error) {
    await client.query('rollback').catch(ignore);
    throw error;
  }
}

/**
 * Checks the server's identity in each transaction, within the round trip that begins it: a pooler may have connected
 * an open connection to another server.
 */
async function begin(
  client: pg.PoolClient,
  { identity, isSnapshot }: { readonly identity: Identity; readonly isSnapshot: boolean },
): Promise<z.infer<typeof Began>> {
  const level = isSnapshot ? 'repeatable read' : 'read committed';
  const limits = isSnapshot ? `${LIMITS}; ${WHOLE}` : LIMITS;
  const text = `begin isolation level ${level}; ${BEGIN}; ${limits}; select ${BEGAN}, ${identity.columns()}`;
  const row = await lastRow(client, text);
  identity.check(row);
  return Began.parse(row);
}

export const MIGRATIONS = join(packageRoot, 'migrations');

let files: ReadonlyMap<string, MigrationMeta> | undefined;

/** The migrations in this package, oldest first, by hash. */
export function knownMigrations(): ReadonlyMap<string, MigrationMeta> {
  return (files ??= new Map(
    readMigrationFiles({ migrationsFolder: MIGRATIONS }).map((migration) => [migration.hash, migration]),
  ));
}

/**
 * Requires that no newer version of the program has migrated the database meanwhile. This version would not know how
 * to write its rows.
 * @throws WrongDatabaseError
 */
export async function requireOwnSchema(session: Session): Promise<void> {
  const applied = await oneValue(session, sql`select count(*)::int from etl.migrations`, z.number());
  if (applied > knownMigrations().size) throw newerSchema();
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
