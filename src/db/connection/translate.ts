import {
  codeOf,
  DatabaseAccessError,
  DatabaseConflictError,
  DatabaseError,
  DatabaseUnavailableError,
  EtlError,
  LeaseLostError,
} from '../../errors.ts';

/** Each of Postgres' codes has a digit; those of the system, such as EPERM, have none. */
const SQLSTATE = /^(?=.*\d)[0-9A-Z]{5}$/;
/** Deadlock, serialization failure, lock timeout: two transactions met, the same work can be tried at once. */
const CONFLICTS = new Set(['40P01', '40001', '55P03']);
/** The server ended the session because its transaction stood idle too long: somebody else may own the range now. */
const FROZEN = '25P03';
/** No way leads there, or none does any longer: by SQLSTATE or by the system's word for it. */
const AWAY =
  /^(08...|57P0[1-4]|53300|ECONN(REFUSED|RESET|ABORTED)|E(NET|HOST)(UNREACH|DOWN)|EADDRNOTAVAIL|EPIPE|ENOTFOUND|EAI_AGAIN|EAI_FAIL|ETIMEDOUT|ENOENT)$/;
const AWAY_TEXT =
  /connection terminated|connection ended|timeout exceeded when trying to connect|not queryable/i;

/** What ends by itself, or when somebody does something on the server: worth waiting for. The first that matches. */
const PASSING: readonly (readonly [pattern: RegExp, what: string, hint: string])[] = [
  [/^53100$/, "the database's disk is full", 'Free some space.'],
  [
    /^25006$/,
    'the database only reads',
    'This is a standby, or default_transaction_read_only is on. Connect to the primary: with several hosts, target_session_attrs=read-write finds it.',
  ],
  [
    /^(57014|25P04|57P05)$/,
    'the database ended what took longer than it allows',
    'Where this stays so, give the role more time: `alter role … set statement_timeout = 0`, likewise `idle_session_timeout = 0`, and from Postgres 17 on `transaction_timeout = 0`.',
  ],
  [/^58P01$/, 'a file of the database is missing', 'Was Postgres upgraded while it ran? Restart it.'],
  // Insufficient resources, operator intervention, system error, configuration file error, internal error.
  [
    /^(53.|57P|58.|F0.|XX.)..$/,
    'the database is in trouble',
    "Look into the server's log; nothing that was committed is lost.",
  ],
];

/** What a person must change, by SQLSTATE, code of Node or the driver's words. */
const ACCESS: readonly (readonly [pattern: RegExp, hint: string])[] = [
  [
    /^28P01$|password must be a string/,
    'Check user and password in DATABASE_URL, PGUSER, PGPASSWORD or ~/.pgpass. In a URL, characters such as @ / # % are percent-encoded.',
  ],
  [
    /^28000$/,
    'Check the user of DATABASE_URL (or PGUSER); pg_hba.conf on the server says who may connect, and how.',
  ],
  [
    /^3D000$/,
    'Create the database, such as with `createdb`, or correct its name in DATABASE_URL (or PGDATABASE).',
  ],
  [/^42501$/, 'Connect as the owner of the database, or let the owner grant that right to this role.'],
  [
    /does not support SSL/,
    'Switch TLS on at the server, or set sslmode=prefer (or PGSSLMODE) to go without.',
  ],
  [
    /CERT|SELF_SIGNED|UNABLE_TO_|certificate/,
    'Name the certificate of its authority with sslrootcert, or set sslmode=require to encrypt without verifying the server.',
  ],
];

const REPORT_HINT =
  'Where the reason does not say what to do, report it as a bug, with the command and what it printed.';

/** A statement was not even tried, because one before it in its transaction had failed. */
const NOT_TRIED = '25P02';

/** True of the error of a statement that was not tried. */
export function isNotTried(error: unknown): boolean {
  return error instanceof DatabaseError && codeOf(error.cause) === NOT_TRIED;
}

/** A row with that key is there. */
const STORED = '23505';
/** Row security, which COPY does not go together with, is one of the things that a server says of itself. */
const UNSUPPORTED = '0A000';

/** True where a table did not take rows as new ones: one is stored, or the table wants to look at each. */
export function isNotTakenAsNew(error: unknown): boolean {
  return error instanceof DatabaseError && [STORED, UNSUPPORTED].includes(codeOf(error.cause) ?? '');
}

/** Errors of the driver become errors of this program; the only place that knows Postgres' codes. */
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
  if (code === FROZEN)
    return new LeaseLostError('the database ended a transaction that stood idle too long', { cause });
  // Retention dropped it between the look at the floors and the insert: the page is cut anew.
  const isDropped = code === '23514' && /no partition of relation/.test(message);
  // Two that grant the same at the same time: Postgres has no code for it.
  const isOvertaken = code === 'XX000' && /^tuple concurrently (updated|deleted)$/.test(message);
  return CONFLICTS.has(code) || isDropped || isOvertaken
    ? new DatabaseConflictError(`two transactions met: ${message}`, { cause })
    : undefined;
}

function ofServer(code: string, message: string, cause: unknown): EtlError {
  if (AWAY.test(code) || AWAY_TEXT.test(message)) {
    return new DatabaseUnavailableError(`the database is away: ${message}`, {
      cause,
      hint: 'Check that Postgres runs and that DATABASE_URL is right; nothing that was committed is lost.',
    });
  }
  const passing = PASSING.find(([pattern]) => pattern.test(code));
  if (passing !== undefined) {
    const [, what, hint] = passing;
    return new DatabaseUnavailableError(`${what}: ${message}`, { cause, hint });
  }
  const remedy = ACCESS.find(([pattern]) => pattern.test(code) || pattern.test(message));
  const reason = `${message}${code === '' ? '' : ` (${code})`}`;
  if (remedy !== undefined)
    return new DatabaseAccessError(`the database refused: ${reason}`, { cause, hint: remedy[1] });
  // An error without one of Postgres' codes was made here, by the driver or by what the statement is made from.
  return SQLSTATE.test(code)
    ? new DatabaseError(`the database refused: ${reason}`, { cause })
    : new DatabaseError(`this program could not run a statement: ${reason}`, { cause, hint: REPORT_HINT });
}

/** Drizzle's own error says only "Failed query", with all parameters; the reason is its cause. */
function rootOf(error: unknown): unknown {
  if (error instanceof EtlError) return error;
  if (error instanceof AggregateError && error.errors.length > 0) return error.errors[0];
  return error instanceof Error && error.cause instanceof Error ? rootOf(error.cause) : error;
}
