import { drizzle } from 'drizzle-orm/node-postgres';
import { sql, type SQL } from 'drizzle-orm';
import pg from 'pg';
import * as z from 'zod';
import { codeOf, DatabaseError, DatabaseUnavailableError, WrongDatabaseError } from '../errors.ts';
import { streamAsText, type TextOptions } from './as-text.ts';
import { copyIn, type CopyPieces } from './copy-in.ts';
import { copyOut } from './copy-out.ts';
import { answersOf } from './answers-of.ts';
import { createIdentity, type Identity } from './identity.ts';
import { lastRow, PINNED } from './pinned.ts';
import { chooseServer, type ServerChoice } from './server-choice.ts';
import { connectionOf } from './servers.ts';
import { textOf } from './sql.ts';
import { isNotTried, translate } from './translate.ts';

/** Postgres 14 brought multiranges, on which coverage rests. */
const OLDEST_SERVER = 140_000;

/**
 * Said once a transaction, not once a session, so that PgBouncer in transaction mode changes nothing. A frozen process
 * must not hold a row that all others need, and nobody waits for ever for one that does. The protocols of leases and
 * commits see what others committed while they waited, whatever a role or database makes the default.
 */
const LIMITS = `set local lock_timeout = '10s'`;
const BEGIN = `${PINNED}; set local idle_in_transaction_session_timeout = '5s'`;

/** A reader of all rows of a moment counts on them: rows that a policy hides are an error. */
const WHOLE = `set local row_security = off`;

/** When the transaction began, as text that means the same in every session. */
const BEGAN = `to_char(now() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as began`;
const Began = z.object({ began: z.string() });

/** An older connection may lead to a server that has been replaced: the next one goes to the promoted server. */
const LIFE_SECONDS = 60;

/**
 * What statements run on: the pool (each in its own transaction) or one transaction. Of one transaction, those that do not
 * wait for each other's answer are sent at once and run in that order: `answersOf` waits for them.
 */
export interface Session {
  /** Runs a statement and parses each row that it returns. */
  rows<T>(query: SQL, row: z.ZodType<T>): Promise<T[]>;
  /** Runs a statement; the number of rows that it touched. */
  run(query: SQL): Promise<number>;
  /** Runs text of many statements, as migrations are: all of them or none. */
  script(text: string): Promise<void>;
  /**
   * Runs statements without parameters, of which the last one is a `copy … from stdin` that takes the data; how many rows it
   * has taken. Where pieces are made while they are sent, nothing may be sent behind them before they are there.
   */
  copyIn(statements: SQL, pieces: CopyPieces): Promise<number>;
  /** Runs a `copy … to stdout` without parameters. Its data is valid until `onData` returns. */
  copyOut(statement: SQL, onData: (data: Buffer) => void): Promise<void>;
}

/**
 * The row of a query that always has one, as a count has.
 * @throws DatabaseError if there is none
 */
export async function oneRow<T>(session: Pick<Session, 'rows'>, query: SQL, row: z.ZodType<T>): Promise<T> {
  const [one] = await session.rows(query, row);
  if (one === undefined) throw new DatabaseError('the database answered no row to a query that has one');
  return one;
}

/** A session within a transaction. */
export interface OpenTransaction extends Session {
  /** When it began, by the server's clock: the time that its rows get, as a parameter. */
  readonly began: string;
}

export interface TransactionHow {
  readonly onWarning?: ((text: string) => void) | undefined;
  /** True: all its statements see the rows of the moment when it begins, and fail where a policy would hide some. */
  readonly isSnapshot?: boolean;
  /** Once it is aborted the statement that runs is cancelled, none begins, and the transaction ends with an AbortError. */
  readonly signal?: AbortSignal;
}

export interface Database extends Session {
  /** Host, port and database name: never the password. */
  readonly label: string;
  /** Server version as Postgres counts it: 150004 is 15.4. */
  readonly version: number;
  /**
   * Runs `work` in one transaction: committed when it resolves, rolled back when it throws. `onWarning` hears what the
   * server warns of meanwhile.
   */
  transaction<T>(work: (session: OpenTransaction) => Promise<T>, how?: TransactionHow): Promise<T>;
  /** Runs one statement of the user's own in a transaction of its own; values as Postgres prints them. Its command tag. */
  streamAsText(text: string, options: TextOptions): Promise<string>;
  close(): Promise<void>;
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
    // A server that went without a word is noticed within minutes; by the system's own default, after two hours.
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    maxLifetimeSeconds: LIFE_SECONDS,
  });
  // An idle connection that breaks is replaced by the pool; the query that needed it gets its own error.
  pool.on('error', ignore);
  // While a query of the pool's own runs, the pool listens for one error alone. A server that dies says so twice: in a
  // last message, and by its socket; the second would end the process.
  pool.on('connect', (client) => client.on('error', ignore));
  try {
    const version = await firstAnswer(pool, choice);
    return assemble(pool, { label: connection.label, version }, identity);
  } catch (error) {
    await pool.end();
    throw translate(error);
  }
}

const ServerFacts = z.object({ version: z.coerce.number(), encoding: z.string(), name: z.string() });

/** The version of the first server that answers, of all that there are. */
async function firstAnswer(pool: pg.Pool, choice: ServerChoice): Promise<number> {
  const tried = choice.index();
  try {
    return await serverVersion(pool);
  } catch (error) {
    if (choice.index() <= tried) throw error;
    return firstAnswer(pool, choice);
  }
}

/** Checks the server before anything is asked of it; its version. */
async function serverVersion(pool: pg.Pool): Promise<number> {
  const row = await lastRow(
    pool,
    `${PINNED}; select current_setting('server_version_num') as version, current_setting('server_encoding') as encoding,
      quote_ident(current_database()) as name`,
  );
  const { version, encoding, name } = ServerFacts.parse(row);
  if (!(version >= OLDEST_SERVER)) {
    throw new WrongDatabaseError(
      `this is Postgres ${Math.floor(version / 10_000)}, which has no multiranges`,
      {
        hint: 'Use Postgres 14 or newer, or leave DATABASE_URL unset to run the embedded server.',
      },
    );
  }
  if (encoding !== 'UTF8') {
    throw new WrongDatabaseError(
      `the database ${name} uses the encoding ${encoding}, which cannot hold every character`,
      {
        hint: `Create one with UTF8: create database ${name} encoding 'UTF8' locale 'C' template template0, under another name or in place of this one.`,
      },
    );
  }
  return version;
}

function assemble(pool: pg.Pool, facts: Pick<Database, 'label' | 'version'>, identity: Identity): Database {
  return {
    ...facts,
    ...sessionOnPool(pool),
    transaction: (work, { onWarning, isSnapshot = false, signal } = {}) =>
      withClient(pool, (client) =>
        hearing(client, onWarning, () =>
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

/** Statements on one connection, within a transaction. */
function sessionOn(client: pg.PoolClient): Session {
  const orm = drizzle(client);
  const execute = (query: SQL) => orm.execute(query).catch(rethrow);
  return {
    rows: async (query, row) => (await execute(query)).rows.map((raw) => row.parse(raw)),
    run: async (query) => (await execute(query)).rowCount ?? 0,
    script: async (text) => {
      await client.query(text).catch(rethrow);
    },
    copyIn: (statements, pieces) => copyIn(client, textOf(statements), pieces).catch(rethrow),
    copyOut: (statement, onData) => copyOut(client, textOf(statement), onData).catch(rethrow),
  };
}

/** Each statement in a transaction of its own, on any connection of the pool; where it can be, in one round trip. */
function sessionOnPool(pool: pg.Pool): Session {
  const alone = <T>(work: (session: Session) => Promise<T>): Promise<T> =>
    withClient(pool, async (client) => {
      const began = client.query(`begin isolation level read committed; ${BEGIN}`);
      const [, result] = await answersOf([began, work(transactionOn(client)), client.query('commit')]);
      return result;
    });
  // Nothing can be sent behind data that is still being made, or whose end the reader decides.
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

/** A statement that is not tried, because one that was sent before it has failed, fails with the error of that one. */
function transactionOn(client: pg.PoolClient): Session {
  const session = sessionOn(client);
  let cause: unknown;
  const explained = <T>(answer: Promise<T>): Promise<T> =>
    answer.catch((error: unknown) => {
      if (isNotTried(error)) throw cause ?? error;
      cause = error;
      throw error;
    });
  return {
    rows: (query, row) => explained(session.rows(query, row)),
    run: (query) => explained(session.run(query)),
    script: (text) => explained(session.script(text)),
    copyIn: (statements, pieces) => explained(session.copyIn(statements, pieces)),
    copyOut: (statement, onData) => explained(session.copyOut(statement, onData)),
  };
}

function rethrow(error: unknown): never {
  throw translate(error);
}

async function withClient<T>(pool: pg.Pool, work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect().catch((error: unknown) => {
    throw translate(error);
  });
  // What the server said when it ended the session while nothing was asked of it: later errors only tell that it ended.
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

/** What a server says that is no warning; other levels it prints in its own language. */
const QUIET = new Set(['NOTICE', 'INFO', 'LOG', 'DEBUG']);

async function hearing<T>(
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

interface Abortable {
  readonly session: OpenTransaction;
  readonly signal: AbortSignal;
}

/** Between two attempts to cancel: one that comes between two statements meets none. */
const CANCEL_MS = 500;

/** A statement of ours is cancelled by where it runs and by when its transaction began: a pooler may lend it to others. */
async function untilAborted<T>(
  besides: Session,
  { session, signal }: Abortable,
  work: (session: OpenTransaction) => Promise<T>,
): Promise<T> {
  const here = await session.rows(sql`select pg_backend_pid() as pid`, z.object({ pid: z.number() }));
  let timer: NodeJS.Timeout | undefined;
  const cancel = () => {
    timer ??= setInterval(cancel, CANCEL_MS);
    besides
      .run(
        sql`select pg_cancel_backend(pid) from pg_stat_activity
            where pid = ${here[0]?.pid ?? 0} and xact_start = ${session.began}::timestamptz`,
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

interface Beginning {
  readonly identity: Identity;
  readonly isSnapshot: boolean;
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

/** A pooler may have led an open connection to another server: each transaction asks, in the round trip that begins it. */
async function begin(
  client: pg.PoolClient,
  { identity, isSnapshot }: Beginning,
): Promise<z.infer<typeof Began>> {
  const level = isSnapshot ? 'repeatable read' : 'read committed';
  const limits = isSnapshot ? `${LIMITS}; ${WHOLE}` : LIMITS;
  const text = `begin isolation level ${level}; ${BEGIN}; ${limits}; select ${BEGAN}, ${identity.columns()}`;
  const row = await lastRow(client, text);
  identity.check(row);
  return Began.parse(row);
}
