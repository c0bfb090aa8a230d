import {
  DatabaseConflictError,
  DatabaseError,
  DatabaseUnavailableError,
  EtlError,
  LeaseLostError,
} from '../../errors.ts';

/** Deadlock, serialization failure, lock timeout: two transactions met, the same work can be tried at once. */
const CONFLICTS = new Set(['40P01', '40001', '55P03']);
/** The server ended the session because its transaction stood idle too long: somebody else may own the range now. */
const FROZEN = '25P03';
const AWAY = /^(08...|57P0[1-5]|53300|ECONNREFUSED|ECONNRESET|EPIPE|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|ENOENT)$/;
const AWAY_TEXT =
  /connection terminated|connection ended|timeout exceeded when trying to connect|not queryable/i;

/** Errors of the driver become errors of this program; the only place that knows Postgres' codes. */
export function translate(error: unknown): unknown {
  if (error instanceof EtlError || (error instanceof Error && error.name === 'AbortError')) return error;
  const cause = rootOf(error);
  const code = codeOf(cause);
  const message = cause instanceof Error ? cause.message || code : String(cause);
  return ofTransaction(code, message, cause) ?? ofServer(code, message, cause);
}

/** What happened to one transaction; undefined for anything else. */
function ofTransaction(code: string, message: string, cause: unknown): EtlError | undefined {
  if (code === FROZEN)
    return new LeaseLostError('the database ended a transaction that stood idle too long', { cause });
  // Retention dropped it between the look at the floors and the insert: the page is cut anew.
  const isDropped = code === '23514' && /no partition of relation/.test(message);
  return CONFLICTS.has(code) || isDropped
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
  if (code === '53100') {
    return new DatabaseUnavailableError(`the database's disk is full: ${message}`, {
      cause,
      hint: 'Free some space.',
    });
  }
  return new DatabaseError(`the database refused: ${message}${code === '' ? '' : ` (${code})`}`, { cause });
}

/** Drizzle's own error says only "Failed query", with all parameters; the reason is its cause. */
function rootOf(error: unknown): unknown {
  if (error instanceof AggregateError && error.errors.length > 0) return error.errors[0];
  return error instanceof Error && error.cause instanceof Error ? rootOf(error.cause) : error;
}

function codeOf(error: unknown): string {
  return typeof error === 'object' && error !== null && 'code' in error && typeof error.code === 'string'
    ? error.code
    : '';
}
