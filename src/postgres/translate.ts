import pg from 'pg';
import {
  codeOf,
  DatabaseAccessError,
  DatabaseConflictError,
  DatabaseError,
  DatabaseUnavailableError,
  EtlError,
  LeaseLostError,
} from '../errors.ts';
import { SQLSTATE, SQLSTATE_CLASS, sqlstates } from '../sqlstate.ts';

/** A code of Postgres has a digit. Codes of the system, such as EPERM, have none. */
const POSTGRES = /^(?=.*\d)[0-9A-Z]{5}$/;
/** Deadlock, serialization failure, lock timeout: two transactions collided, and the work can be retried at once. */
const CONFLICTS = sqlstates(
  SQLSTATE.deadlockDetected,
  SQLSTATE.serializationFailure,
  SQLSTATE.lockNotAvailable,
);
/** The server cannot be reached, or the connection was lost: by SQLSTATE, code of the system, or text of the driver. */
const AWAY = sqlstates(
  SQLSTATE_CLASS.connectionException,
  SQLSTATE.adminShutdown,
  SQLSTATE.crashShutdown,
  SQLSTATE.cannotConnectNow,
  SQLSTATE.databaseDropped,
  SQLSTATE.tooManyConnections,
);
const AWAY_SYSTEM =
  /^(ECONN(REFUSED|RESET|ABORTED)|E(NET|HOST)(UNREACH|DOWN)|EADDRNOTAVAIL|EPIPE|ENOTFOUND|EAI_AGAIN|EAI_FAIL|ETIMEDOUT|ENOENT)$/;
const AWAY_TEXT =
  /connection terminated|connection ended|timeout exceeded when trying to connect|not queryable/i;

/** Exceptions within classes that are usually temporary: these fail until a person acts. */
const LASTING: readonly (readonly [pattern: RegExp, hint: string])[] = [
  [
    sqlstates(SQLSTATE.configurationLimitExceeded),
    'Raise that limit for this role, such as `alter role … set temp_file_limit = -1`.',
  ],
  [
    sqlstates(SQLSTATE.dataCorrupted, SQLSTATE.indexCorrupted),
    'Files of the database are damaged: check the disk, `reindex` the named index or restore a backup. `toncenter-etl verify` then says what is missing.',
  ],
];
/** PgBouncer reports everything that it rejects with the code of a lost connection. */
const POOLER_REFUSES = /unsupported startup parameter|no such (database|user)/;

/** Temporary errors, which are worth waiting for. The first match counts. */
const PASSING: readonly (readonly [pattern: RegExp, what: string, hint: string])[] = [
  [sqlstates(SQLSTATE.diskFull), "the database's disk is full", 'Free some space.'],
  [
    sqlstates(SQLSTATE.readOnlySqlTransaction),
    'the database is read-only',
    'It is a standby, or default_transaction_read_only is on. Connect to the primary: if you name several hosts, target_session_attrs=read-write finds it.',
  ],
  [
    sqlstates(SQLSTATE.queryCanceled, SQLSTATE.transactionTimeout, SQLSTATE.idleSessionTimeout),
    'a timeout of the database ended the statement or session',
    'If this persists, raise the timeouts of the role: `alter role … set statement_timeout = 0`, likewise `idle_session_timeout = 0`, and since Postgres 17 `transaction_timeout = 0`.',
  ],
  [
    sqlstates(SQLSTATE.undefinedFile),
    'a file of the database is missing',
    'Was Postgres upgraded while it ran? Restart it.',
  ],
  [
    sqlstates(
      SQLSTATE_CLASS.insufficientResources,
      SQLSTATE_CLASS.operatorIntervention,
      SQLSTATE_CLASS.systemError,
      SQLSTATE_CLASS.configurationFileError,
      SQLSTATE_CLASS.internalError,
    ),
    'the database reports an internal problem',
    "Read the server's log. Nothing that was committed is lost.",
  ],
];

/** Errors that a person must fix, by SQLSTATE, code of Node or text of the driver. */
const ACCESS: readonly (readonly [patterns: readonly RegExp[], hint: string])[] = [
  [
    [sqlstates(SQLSTATE.invalidPassword), /password must be a string/],
    'Check user and password in DATABASE_URL, PGUSER, PGPASSWORD or ~/.pgpass. In a URL, characters such as @ / # % are percent-encoded.',
  ],
  [
    [sqlstates(SQLSTATE.invalidAuthorizationSpecification)],
    'Check the user of DATABASE_URL (or PGUSER). pg_hba.conf on the server says who may connect, and how.',
  ],
  [
    [sqlstates(SQLSTATE.invalidCatalogName)],
    'Create the database, such as with `createdb`, or correct its name in DATABASE_URL (or PGDATABASE).',
  ],
  [
    [/row-level security/],
    'Row-level security is on. Let the owner of the table run `alter table … disable row level security`, or give this role a policy that shows all rows; `toncenter-etl doctor` names the tables.',
  ],
  [
    [sqlstates(SQLSTATE.insufficientPrivilege)],
    'Connect as the owner of the database, or let the owner grant that right to this role.',
  ],
  [
    [POOLER_REFUSES],
    'PgBouncer rejects the connection: check its databases, users and ignore_startup_parameters, or the options of DATABASE_URL.',
  ],
  [
    [/does not support SSL/],
    'Switch TLS on at the server, or set sslmode=prefer (or PGSSLMODE) to go without.',
  ],
  [
    [/CERT|SELF_SIGNED|UNABLE_TO_|certificate/],
    'Name the certificate of its CA with sslrootcert, or set sslmode=require to encrypt without verifying the server.',
  ],
];

const REPORT_HINT = 'If the reason does not say what to do, report a bug with the command and its output.';

/** True if the statement was rejected only because an earlier one in its transaction had failed. */
export function isNotTried(error: unknown): boolean {
  return error instanceof DatabaseError && codeOf(error.cause) === SQLSTATE.inFailedSqlTransaction;
}

/** A row with that key exists, or the table does not support COPY (such as a table with row security). */
const NOT_NEW = sqlstates(SQLSTATE.uniqueViolation, SQLSTATE.featureNotSupported);

/** True if the table rejected rows that were written as new ones. */
export function isNotTakenAsNew(error: unknown): boolean {
  return error instanceof DatabaseError && NOT_NEW.test(codeOf(error.cause) ?? '');
}

/** Errors that the sent values cause. */
const OF_VALUES = sqlstates(
  SQLSTATE_CLASS.cardinalityViolation,
  SQLSTATE_CLASS.dataException,
  SQLSTATE_CLASS.integrityConstraintViolation,
  SQLSTATE_CLASS.programLimitExceeded,
  SQLSTATE_CLASS.plpgsqlError,
);

/** True if the error does not depend on the values: damaged files, an exceeded limit, a missing table. */
export function isFaultOfDatabase(error: unknown): boolean {
  const code = error instanceof DatabaseError ? (codeOf(error.cause) ?? '') : '';
  return POSTGRES.test(code) && !OF_VALUES.test(code);
}

/** Turns an error of the driver into an error of this program. */
export function translate(error: unknown): unknown {
  if (error instanceof Error && error.name === 'AbortError') return error;
  const cause = rootOf(error);
  if (cause instanceof EtlError) return cause;
  const code = codeOf(cause) ?? '';
  const message = cause instanceof Error ? cause.message || code : String(cause);
  return ofTransaction(code, message, cause) ?? ofServer(code, message, cause);
}

/** The error of a single transaction; undefined for anything else. */
function ofTransaction(code: string, message: string, cause: unknown): EtlError | undefined {
  // Another process may have taken the lease since.
  if (code === SQLSTATE.idleInTransactionSessionTimeout)
    return new LeaseLostError('lease lost: the database ended a transaction that was idle for too long', {
      cause,
    });
  // Retention dropped the partition between the check and the insert: the page is prepared again.
  const isDropped = code === SQLSTATE.checkViolation && lacksPartition(cause);
  // Two sessions ran the same GRANT at the same time. Postgres has no code for it.
  const isOvertaken =
    code === SQLSTATE.internalError && /^tuple concurrently (updated|deleted)$/.test(message);
  return CONFLICTS.test(code) || isDropped || isOvertaken
    ? new DatabaseConflictError(`transaction conflict: ${message}`, { cause })
    : undefined;
}

/**
 * True if a row found no partition. The message may be in any language, but a violated check names a constraint, and
 * an error of a trigger names no table.
 */
function lacksPartition(cause: unknown): boolean {
  return cause instanceof pg.DatabaseError && cause.table !== undefined && cause.constraint === undefined;
}

function ofServer(code: string, message: string, cause: unknown): EtlError {
  const reason = `${message}${code === '' ? '' : ` (${code})`}`;
  const lasting = LASTING.find(([pattern]) => pattern.test(code));
  if (lasting !== undefined)
    return new DatabaseError(`the database refused: ${reason}`, { cause, hint: lasting[1] });
  if (
    !POOLER_REFUSES.test(message) &&
    (AWAY.test(code) || AWAY_SYSTEM.test(code) || AWAY_TEXT.test(message))
  ) {
    return new DatabaseUnavailableError(`cannot reach the database: ${message}`, {
      cause,
      hint: 'Check that Postgres runs and that DATABASE_URL is right. Nothing that was committed is lost.',
    });
  }
  const passing = PASSING.find(([pattern]) => pattern.test(code));
  if (passing !== undefined) {
    const [, what, hint] = passing;
    const own = cause instanceof pg.DatabaseError ? cause.hint : undefined;
    return new DatabaseUnavailableError(`${what}: ${message}`, { cause, hint: own ?? hint });
  }
  const remedy = ACCESS.find(([patterns]) =>
    patterns.some((pattern) => pattern.test(code) || pattern.test(message)),
  );
  if (remedy !== undefined)
    return new DatabaseAccessError(`the database refused: ${reason}`, { cause, hint: remedy[1] });
  // An error without a code of Postgres comes from the driver, or from building the statement.
  return POSTGRES.test(code)
    ? new DatabaseError(`the database refused: ${reason}`, { cause })
    : new DatabaseError(`cannot run a statement: ${reason}`, { cause, hint: REPORT_HINT });
}

/** Drizzle's error says only "Failed query" with all parameters. The reason is in its cause. */
function rootOf(error: unknown): unknown {
  if (error instanceof EtlError) return error;
  if (error instanceof AggregateError && error.errors.length > 0) return error.errors[0];
  return error instanceof Error && error.cause instanceof Error ? rootOf(error.cause) : error;
}
