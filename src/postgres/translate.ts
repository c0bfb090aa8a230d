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

/** Each of Postgres' codes has a digit; those of the system, such as EPERM, have none. */
const POSTGRES = /^(?=.*\d)[0-9A-Z]{5}$/;
/** Deadlock, serialization failure, lock timeout: two transactions met, the same work can be tried at once. */
const CONFLICTS = sqlstates(
  SQLSTATE.deadlockDetected,
  SQLSTATE.serializationFailure,
  SQLSTATE.lockNotAvailable,
);
/** No way leads there, or none does any longer: by SQLSTATE, by the system's word for it, or by the driver's. */
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

/** Of classes that mostly pass, what a person must do something about; meanwhile it fails. */
const LASTING: readonly (readonly [pattern: RegExp, hint: string])[] = [
  [
    sqlstates(SQLSTATE.configurationLimitExceeded),
    'Raise that limit for this role, such as `alter role … set temp_file_limit = -1`.',
  ],
  [
    sqlstates(SQLSTATE.dataCorrupted, SQLSTATE.indexCorrupted),
    'Files of the database are damaged: look at the disk, `reindex` what is named or restore a backup. `toncenter-etl verify` says what is missing then.',
  ],
];
/** PgBouncer has one code, of a lost connection, for all that it refuses. */
const POOLER_REFUSES = /unsupported startup parameter|no such (database|user)/;

/** What ends by itself, or when somebody does something on the server: worth waiting for. The first that matches. */
const PASSING: readonly (readonly [pattern: RegExp, what: string, hint: string])[] = [
  [sqlstates(SQLSTATE.diskFull), "the database's disk is full", 'Free some space.'],
  [
    sqlstates(SQLSTATE.readOnlySqlTransaction),
    'the database only reads',
    'This is a standby, or default_transaction_read_only is on. Connect to the primary: with several hosts, target_session_attrs=read-write finds it.',
  ],
  [
    sqlstates(SQLSTATE.queryCanceled, SQLSTATE.transactionTimeout, SQLSTATE.idleSessionTimeout),
    'the database ended what took longer than it allows',
    'Where this stays so, give the role more time: `alter role … set statement_timeout = 0`, likewise `idle_session_timeout = 0`, and from Postgres 17 on `transaction_timeout = 0`.',
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
    'the database is in trouble',
    "Look into the server's log; nothing that was committed is lost.",
  ],
];

/** What a person must change, by SQLSTATE, code of Node or the driver's words. */
const ACCESS: readonly (readonly [patterns: readonly RegExp[], hint: string])[] = [
  [
    [sqlstates(SQLSTATE.invalidPassword), /password must be a string/],
    'Check user and password in DATABASE_URL, PGUSER, PGPASSWORD or ~/.pgpass. In a URL, characters such as @ / # % are percent-encoded.',
  ],
  [
    [sqlstates(SQLSTATE.invalidAuthorizationSpecification)],
    'Check the user of DATABASE_URL (or PGUSER); pg_hba.conf on the server says who may connect, and how.',
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
    'That is said by PgBouncer: see its databases, users and ignore_startup_parameters, or the options of DATABASE_URL.',
  ],
  [
    [/does not support SSL/],
    'Switch TLS on at the server, or set sslmode=prefer (or PGSSLMODE) to go without.',
  ],
  [
    [/CERT|SELF_SIGNED|UNABLE_TO_|certificate/],
    'Name the certificate of its authority with sslrootcert, or set sslmode=require to encrypt without verifying the server.',
  ],
];

const REPORT_HINT =
  'Where the reason does not say what to do, report it as a bug, with the command and what it printed.';

/** True of the error of a statement that was not even tried, because one before it in its transaction had failed. */
export function isNotTried(error: unknown): boolean {
  return error instanceof DatabaseError && codeOf(error.cause) === SQLSTATE.inFailedSqlTransaction;
}

/** A row with that key is there, or COPY does not go together with the table, such as where it has row security. */
const NOT_NEW = sqlstates(SQLSTATE.uniqueViolation, SQLSTATE.featureNotSupported);

/** True if a table did not take rows as new ones: one is stored, or the table wants to look at each. */
export function isNotTakenAsNew(error: unknown): boolean {
  return error instanceof DatabaseError && NOT_NEW.test(codeOf(error.cause) ?? '');
}

/** What Postgres says of the values that it was sent. */
const OF_VALUES = sqlstates(
  SQLSTATE_CLASS.cardinalityViolation,
  SQLSTATE_CLASS.dataException,
  SQLSTATE_CLASS.integrityConstraintViolation,
  SQLSTATE_CLASS.programLimitExceeded,
  SQLSTATE_CLASS.plpgsqlError,
);

/** True of trouble that the database has whatever it is sent: damaged files, a limit of its settings, a table that is gone. */
export function isFaultOfDatabase(error: unknown): boolean {
  const code = error instanceof DatabaseError ? (codeOf(error.cause) ?? '') : '';
  return POSTGRES.test(code) && !OF_VALUES.test(code);
}

/** Errors of the driver become errors of this program. */
export function translate(error: unknown): unknown {
  if (error instanceof Error && error.name === 'AbortError') return error;
  const cause = rootOf(error);
  if (cause instanceof EtlError) return cause;
  const code = codeOf(cause) ?? '';
  const message = cause instanceof Error ? cause.message || code : String(cause);
  return ofTransaction(code, message, cause) ?? ofServer(code, message, cause);
}

/** What happened to one transaction; undefined for anything else. */
function ofTransaction(code: string, message: string, cause: unknown): EtlError | undefined {
  // Somebody else may own the range now.
  if (code === SQLSTATE.idleInTransactionSessionTimeout)
    return new LeaseLostError('the database ended a transaction that stood idle too long', { cause });
  // Retention dropped it between the look at the floors and the insert: the page is cut anew.
  const isDropped = code === SQLSTATE.checkViolation && lacksPartition(cause);
  // Two that grant the same at the same time: Postgres has no code for it.
  const isOvertaken =
    code === SQLSTATE.internalError && /^tuple concurrently (updated|deleted)$/.test(message);
  return CONFLICTS.test(code) || isDropped || isOvertaken
    ? new DatabaseConflictError(`two transactions met: ${message}`, { cause })
    : undefined;
}

/** The message is in the server's language. A violated check would have a name, and what a trigger raises no table. */
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
    return new DatabaseUnavailableError(`the database is away: ${message}`, {
      cause,
      hint: 'Check that Postgres runs and that DATABASE_URL is right; nothing that was committed is lost.',
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
  // An error without one of Postgres' codes was made here, by the driver or by what the statement is made from.
  return POSTGRES.test(code)
    ? new DatabaseError(`the database refused: ${reason}`, { cause })
    : new DatabaseError(`this program could not run a statement: ${reason}`, { cause, hint: REPORT_HINT });
}

/** Drizzle's own error says only "Failed query", with all parameters; the reason is its cause. */
function rootOf(error: unknown): unknown {
  if (error instanceof EtlError) return error;
  if (error instanceof AggregateError && error.errors.length > 0) return error.errors[0];
  return error instanceof Error && error.cause instanceof Error ? rootOf(error.cause) : error;
}
