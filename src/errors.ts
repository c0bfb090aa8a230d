/** The exit codes for a shell, cron or systemd (`sysexits.h` for 75). */
export const EXIT = { done: 0, failed: 1, usage: 2, incomplete: 3, tryAgain: 75 } as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** What an error carries besides its message. */
interface ErrorFacts {
  /** What the user can do next, as one sentence; a command if there is one. */
  readonly hint?: string;
  readonly cause?: unknown;
}

/**
 * The base of every error that this program throws on purpose. Callers decide by `retryable` and `code`,
 * never by the text.
 */
export abstract class EtlError extends Error {
  abstract readonly code: string;
  readonly exitCode: ExitCode = EXIT.failed;
  /** True if the same call may succeed later although no person changes anything. */
  readonly retryable: boolean = false;
  readonly hint: string | undefined;

  constructor(message: string, facts: ErrorFacts = {}) {
    super(message, facts.cause === undefined ? undefined : { cause: facts.cause });
    this.name = new.target.name;
    this.hint = facts.hint;
  }
}

/** The command line or a setting is wrong: nothing was started. */
export class UsageError extends EtlError {
  readonly code = 'usage';
  override readonly exitCode = EXIT.usage;
}

/** The work ended before the range did: progress is kept, and a later run continues. */
export class IncompleteError extends EtlError {
  readonly code = 'incomplete';
  override readonly exitCode = EXIT.incomplete;
}

/** 401 or 403: the key is unknown or belongs to another network. */
export class AuthError extends EtlError {
  readonly code = 'auth';
  override readonly exitCode = EXIT.usage;
}

/**
 * The API is down: no connection, 408, 425, 502, 503, 504, or a gateway's page instead of a 5xx. A failure in
 * the API's own words (500, 542) is an `ApiFailedError`.
 */
export class ApiUnavailableError extends EtlError {
  readonly code: string = 'api_unavailable';
  override readonly exitCode = EXIT.tryAgain;
  override readonly retryable = true;
  /** The pause that the server asks for, if it does. */
  readonly retryAfterMs: number | undefined;

  constructor(message: string, facts: ErrorFacts & { readonly retryAfterMs?: number | undefined } = {}) {
    super(message, facts);
    this.retryAfterMs = facts.retryAfterMs;
  }
}

/** A 200 whose body does not belong to the endpoint (HTML, cut JSON, another shape). */
export class BadResponseError extends ApiUnavailableError {
  override readonly code: string = 'bad_response';
}

/** A row does not follow from another one that the source shows. Smaller requests would only hide that. */
export class NotJoinedError extends BadResponseError {}

/** A block is missing although others follow from it. */
export class MissingBlockError extends NotJoinedError {
  /** The second of the block that follows from it. */
  readonly namedAt: number;

  constructor(message: string, namedAt: number) {
    super(message);
    this.namedAt = namedAt;
  }
}

/**
 * The API itself answered that it failed (500 or 542 with its own error text), or a gateway answered a 4xx in
 * its place. It may be temporary. But unlike for an API that is down, the error may be meant, so the request
 * is not retried forever.
 */
export class ApiFailedError extends ApiUnavailableError {
  override readonly code = 'api_failed';
}

/** 429: the rate limit is reached. */
export class RateLimitedError extends ApiUnavailableError {
  override readonly code: string = 'rate_limited';
}

/** The server timed out: a smaller page may pass. */
export class ApiTimeoutError extends ApiUnavailableError {
  override readonly code: string = 'api_timeout';
}

/** The request was too long for a gateway. The same one never passes, but a smaller one may. */
export class RequestTooLargeError extends ApiTimeoutError {
  override readonly code: string = 'request_too_large';
}

/** 404: missing, or not there yet. The caller knows which. */
export class NotFoundError extends EtlError {
  readonly code = 'not_found';
}

/** An endpoint that every TON Center API has is missing: the address is of something else. */
export class NoIndexError extends NotFoundError {
  override readonly exitCode = EXIT.usage;
}

/** The server lacks the endpoint, so nothing of the dataset can be read from it. */
export class NoEndpointError extends EtlError {
  readonly code = 'no_endpoint';
}

/** The API will never answer this request (bad parameter, forbidden limit). */
export class RequestRefusedError extends EtlError {
  readonly code = 'request_refused';
}

/** The server fails for a part of a walk, though it serves the rest: the part is retried later. */
export class NotServedError extends EtlError {
  readonly code = 'not_served';
  override readonly exitCode = EXIT.incomplete;
}

/** A source has refused every request of a run for ten minutes: a person must look at it. */
export class SourceRefusesError extends EtlError {
  readonly code = 'source_refuses';
  override readonly exitCode = EXIT.usage;
}

/** The page was larger than the server's limit, which is `most`. */
export class LimitRefusedError extends RequestRefusedError {
  readonly most: number;

  constructor(message: string, most: number, facts: ErrorFacts = {}) {
    super(message, facts);
    this.most = most;
  }
}

/** The source answers the watermark's requests in an unusable form. */
export class UnfitSourceError extends EtlError {
  readonly code = 'unfit_source';
  override readonly exitCode = EXIT.usage;
  override readonly retryable = true;
}

/** The source shows less of the chain than before: it may have been restored from an older copy. */
export class SourceWentBackError extends EtlError {
  readonly code = 'source_went_back';
  override readonly exitCode = EXIT.tryAgain;
  override readonly retryable = true;
  /** The second above which nothing can be read until the source has caught up. */
  readonly ceiling: number;

  constructor(message: string, { ceiling, hint }: { readonly ceiling: number; readonly hint: string }) {
    super(message, { hint });
    this.ceiling = ceiling;
  }
}

/** Postgres is unreachable or shutting down. */
export class DatabaseUnavailableError extends EtlError {
  readonly code = 'database_unavailable';
  override readonly exitCode = EXIT.tryAgain;
  override readonly retryable = true;
}

/** Two transactions were in conflict (deadlock, serialization, lock timeout): the same work can be retried at once. */
export class DatabaseConflictError extends EtlError {
  readonly code = 'database_conflict';
  override readonly exitCode = EXIT.tryAgain;
  override readonly retryable = true;
}

/** Postgres answered with an error that a retry does not change. */
export class DatabaseError extends EtlError {
  readonly code: string = 'database';
}

/** A row was already stored, or the table has a policy or trigger: the page is rewritten through staging tables. */
export class NotNewError extends DatabaseError {
  override readonly code = 'not_new';
}

/** The database refuses this program or its work: a person must change a setting or a right. */
export class DatabaseAccessError extends DatabaseError {
  override readonly code = 'database_access';
  override readonly exitCode = EXIT.usage;
}

/** Another database server answers than the one that gave this run its leases: the run's state may be missing there. */
export class ServerChangedError extends EtlError {
  readonly code = 'server_changed';
  override readonly exitCode = EXIT.tryAgain;
}

/** The database does not belong to these settings: other network, newer schema, or too old a server. */
export class WrongDatabaseError extends EtlError {
  readonly code: string = 'wrong_database';
  override readonly exitCode = EXIT.usage;
}

/** The API answers for a different network from the one at the start of the run, perhaps because of a gateway. */
export class WrongNetworkError extends WrongDatabaseError {
  override readonly code = 'wrong_network';
}

/** A lake is damaged or changed by another program, or is not a lake. */
export class LakeError extends EtlError {
  readonly code: string = 'lake';

  /** The same error with its subject in front of the message. */
  static of(what: string, cause: EtlError): LakeError {
    const { hint } = cause;
    return new LakeError(`${what}: ${cause.message}`, { cause, ...(hint === undefined ? {} : { hint }) });
  }
}

/** The location of a lake is unreachable. */
export class LakeAwayError extends LakeError {
  override readonly code = 'lake_away';
}

/** Two processes wrote to one table of a lake: the same work can be retried at once. */
export class LakeBusyError extends LakeError {
  override readonly code = 'lake_busy';
  override readonly exitCode = EXIT.tryAgain;
  override readonly retryable = true;
}

/** There is no room for temporary files: a daemon continues to crawl without its lake, a command cannot work. */
export class NoScratchError extends LakeError {
  override readonly code = 'no_scratch';
  override readonly exitCode = EXIT.usage;
}

/** The lease of a range expired or was taken away: rows that were read for it must not be written. */
export class LeaseLostError extends EtlError {
  readonly code = 'lease_lost';
  override readonly exitCode = EXIT.tryAgain;
  override readonly retryable = true;
}

/**
 * True if an error affects all ranges alike: something is down, another server answers, or a person must
 * change something.
 */
export function concernsRun({ retryable, exitCode }: EtlError): boolean {
  return retryable || exitCode === EXIT.usage || exitCode === EXIT.tryAgain;
}

/**
 * True if the error may be about one request only, while the API answers others of the same endpoint. For example, it
 * cannot read one row, cannot serve a page in time, or answers nonsense.
 */
export function mayConcernPage(error: unknown): error is EtlError {
  if (error instanceof RateLimitedError || error instanceof NotJoinedError) return false;
  return (
    error instanceof ApiUnavailableError ||
    error instanceof RequestRefusedError ||
    error instanceof NotFoundError
  );
}

/** The same without an API that is down: the API must have answered. */
export function isNotServed(error: unknown): error is EtlError {
  return mayConcernPage(error) && error.code !== AWAY;
}

const AWAY = new ApiUnavailableError('').code;

/** True for any error that an aborted signal caused. */
export function isAbort(error: unknown): boolean {
  return error instanceof Error && (error.name === 'AbortError' || error.name === 'TimeoutError');
}

/** A value that must be present. If it is missing, this program has a bug and must not continue. */
export function present<T>(value: T | undefined, what: string): T {
  if (value === undefined) throw new TypeError(`${what} is missing`);
  return value;
}

/** Any thrown value, as an Error. */
export function toError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}

/** The hint if a process may not open enough files. */
export const RAISE_FILE_LIMIT = 'Raise the limit: `ulimit -n 1024`, or LimitNOFILE= in a service of systemd.';

/** The message of any thrown value. */
export function messageOf(thrown: unknown): string {
  return toError(thrown).message;
}

/** The code of a system error (`ENOENT`), of Postgres (SQLSTATE) or of this program; undefined for anything else. */
export function codeOf(thrown: unknown): string | undefined {
  const isCoded = typeof thrown === 'object' && thrown !== null && 'code' in thrown;
  return isCoded && typeof thrown.code === 'string' ? thrown.code : undefined;
}
