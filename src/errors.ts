/** What the process says of its end to a shell, cron or systemd (`sysexits.h` for 75). */
export const EXIT = { done: 0, failed: 1, usage: 2, incomplete: 3, tryAgain: 75 } as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** What an error carries besides its message. */
interface ErrorFacts {
  /** What the user can do next, as one sentence; a command where there is one. */
  readonly hint?: string;
  readonly cause?: unknown;
}

/**
 * The base of every error that this program throws on purpose. How an error is treated: the caller decides on `retryable`
 * and `code`, never on the text.
 */
export abstract class EtlError extends Error {
  abstract readonly code: string;
  readonly exitCode: ExitCode = EXIT.failed;
  /** True where the same call may succeed later without anybody changing anything. */
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

/** The work ended before the range did: progress is kept, a later run goes on. */
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
 * The API is away: no connection, 408, 425, 502, 503, 504, or a gateway's page in place of a 5xx. A failure in the API's
 * own words (500, 542) is an `ApiFailedError`.
 */
export class ApiUnavailableError extends EtlError {
  readonly code: string = 'api_unavailable';
  override readonly exitCode = EXIT.tryAgain;
  override readonly retryable = true;
  /** For how long the server asks to be left alone, where it says. */
  readonly retryAfterMs: number | undefined;

  constructor(message: string, facts: ErrorFacts & { readonly retryAfterMs?: number | undefined } = {}) {
    super(message, facts);
    this.retryAfterMs = facts.retryAfterMs;
  }
}

/** A 200 whose body is not the endpoint's (HTML, cut JSON, another shape). */
export class BadResponseError extends ApiUnavailableError {
  override readonly code: string = 'bad_response';
}

/** A row does not follow from another that the source shows: smaller parts, read without what joins them, would hide that. */
export class NotJoinedError extends BadResponseError {}

/** A block is not there though others follow from it. */
export class MissingBlockError extends NotJoinedError {
  /** The second of the block that follows from it. */
  readonly namedAt: number;

  constructor(message: string, namedAt: number) {
    super(message);
    this.namedAt = namedAt;
  }
}

/**
 * The API itself answered that it failed (500 or 542 with its own error text), or a gateway answered a 4xx in its place.
 * It may pass, but unlike an API that is away it may also be meant: a request is not repeated for ever on it.
 */
export class ApiFailedError extends ApiUnavailableError {
  override readonly code = 'api_failed';
}

/** 429: the budget is spent. */
export class RateLimitedError extends ApiUnavailableError {
  override readonly code: string = 'rate_limited';
}

/** The server gave up on the query: a smaller page may pass. */
export class ApiTimeoutError extends ApiUnavailableError {
  override readonly code: string = 'api_timeout';
}

/** The request itself was too long for a gateway: the same one never passes, one with less may. */
export class RequestTooLargeError extends ApiTimeoutError {
  override readonly code: string = 'request_too_large';
}

/** 404: not there, or not there yet; what it means is the caller's knowledge. */
export class NotFoundError extends EtlError {
  readonly code = 'not_found';
}

/** What every TON Center API has is not there: the address is another one's. */
export class NoIndexError extends NotFoundError {
  override readonly exitCode = EXIT.usage;
}

/** The server has no such endpoint: nothing of the dataset can be had from it. */
export class NoEndpointError extends EtlError {
  readonly code = 'no_endpoint';
}

/** The API will never answer this request (bad parameter, forbidden limit). */
export class RequestRefusedError extends EtlError {
  readonly code = 'request_refused';
}

/** The server does not serve a part of what a walk asks for, though it serves the rest: the part is asked for again later. */
export class NotServedError extends EtlError {
  readonly code = 'not_served';
  override readonly exitCode = EXIT.incomplete;
}

/** A source refuses everything that a run needs, and has for so long that it will not pass: a person must look at it. */
export class SourceRefusesError extends EtlError {
  readonly code = 'source_refuses';
  override readonly exitCode = EXIT.usage;
}

/** The page was larger than this server gives: `most` is the number that it names. */
export class LimitRefusedError extends RequestRefusedError {
  readonly most: number;

  constructor(message: string, most: number, facts: ErrorFacts = {}) {
    super(message, facts);
    this.most = most;
  }
}

/** The source answers what the watermark is known by in a form of which nothing can be made. */
export class UnfitSourceError extends EtlError {
  readonly code = 'unfit_source';
  override readonly exitCode = EXIT.usage;
  override readonly retryable = true;
}

/** The source shows less of the chain than it did: it may have been restored from an older copy. */
export class SourceWentBackError extends EtlError {
  readonly code = 'source_went_back';
  override readonly exitCode = EXIT.tryAgain;
  override readonly retryable = true;
  /** The second above which nothing can be read until it has caught up. */
  readonly ceiling: number;

  constructor(message: string, { ceiling, hint }: { readonly ceiling: number; readonly hint: string }) {
    super(message, { hint });
    this.ceiling = ceiling;
  }
}

/** Postgres cannot be reached or is shutting down. */
export class DatabaseUnavailableError extends EtlError {
  readonly code = 'database_unavailable';
  override readonly exitCode = EXIT.tryAgain;
  override readonly retryable = true;
}

/** Two transactions met (deadlock, serialization, lock timeout): the same work can be tried at once. */
export class DatabaseConflictError extends EtlError {
  readonly code = 'database_conflict';
  override readonly exitCode = EXIT.tryAgain;
  override readonly retryable = true;
}

/** Postgres answered, and the response is an error that trying again does not change. */
export class DatabaseError extends EtlError {
  readonly code: string = 'database';
}

/** A row was stored already, or the table looks at each row: the page goes by way of staging tables. */
export class NotNewError extends DatabaseError {
  override readonly code = 'not_new';
}

/** The database does not let this program in, or not do its work: a person must change a setting or a right. */
export class DatabaseAccessError extends DatabaseError {
  override readonly code = 'database_access';
  override readonly exitCode = EXIT.usage;
}

/** Another server answers than the one that gave this run its leases: what the run remembers may not be there. */
export class ServerChangedError extends EtlError {
  readonly code = 'server_changed';
  override readonly exitCode = EXIT.tryAgain;
}

/** The database is not the one that these settings mean: other network, newer schema, too old a server. */
export class WrongDatabaseError extends EtlError {
  readonly code: string = 'wrong_database';
  override readonly exitCode = EXIT.usage;
}

/** The API answers for another network than it did when the run began: a gateway may have led astray for a while. */
export class WrongNetworkError extends WrongDatabaseError {
  override readonly code = 'wrong_network';
}

/** A lake is not as this program left it, or not a lake at all. */
export class LakeError extends EtlError {
  readonly code: string = 'lake';

  /** An error that says what it is of. */
  static of(what: string, cause: EtlError): LakeError {
    const { hint } = cause;
    return new LakeError(`${what}: ${cause.message}`, { cause, ...(hint === undefined ? {} : { hint }) });
  }
}

/** The place of a lake cannot be reached, whatever is asked of it. */
export class LakeAwayError extends LakeError {
  override readonly code = 'lake_away';
}

/** Two processes wrote to one table of a lake: the same work can be tried at once. */
export class LakeBusyError extends LakeError {
  override readonly code = 'lake_busy';
  override readonly exitCode = EXIT.tryAgain;
  override readonly retryable = true;
}

/** Files of the moment find no place: a daemon keeps crawling without its lake, a command cannot work. */
export class NoScratchError extends LakeError {
  override readonly code = 'no_scratch';
  override readonly exitCode = EXIT.usage;
}

/** The lease of a range expired or was taken away: what was read for it must not be written. */
export class LeaseLostError extends EtlError {
  readonly code = 'lease_lost';
  override readonly exitCode = EXIT.tryAgain;
  override readonly retryable = true;
}

/** True for what meets all ranges alike: something is away, another server answers, or a person must change something. */
export function concernsRun({ retryable, exitCode }: EtlError): boolean {
  return retryable || exitCode === EXIT.usage || exitCode === EXIT.tryAgain;
}

/**
 * True for what the API may say of one request alone, while it answers others of the same endpoint: that a row cannot be
 * served, or a page not in time, or nothing that makes sense.
 */
export function mayConcernPage(error: unknown): error is EtlError {
  if (error instanceof RateLimitedError || error instanceof NotJoinedError) return false;
  return (
    error instanceof ApiUnavailableError ||
    error instanceof RequestRefusedError ||
    error instanceof NotFoundError
  );
}

/** The same without an API that is away: it was asked, and answered something that is no answer. */
export function isNotServed(error: unknown): error is EtlError {
  return mayConcernPage(error) && error.code !== AWAY;
}

const AWAY = new ApiUnavailableError('').code;

/** True for any error thrown because a signal was aborted. */
export function isAbort(error: unknown): boolean {
  return error instanceof Error && (error.name === 'AbortError' || error.name === 'TimeoutError');
}

/** A value that is there in any case: that it is not would be a mistake of this program, which must not go on. */
export function present<T>(value: T | undefined, what: string): T {
  if (value === undefined) throw new TypeError(`${what} is missing`);
  return value;
}

/** Whatever was thrown, as an Error. */
export function toError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}

/** What to do where a process may not open as many files as it needs. */
export const RAISE_FILE_LIMIT = 'Raise the limit: `ulimit -n 1024`, or LimitNOFILE= in a service of systemd.';

/** The message of whatever was thrown. */
export function messageOf(thrown: unknown): string {
  return toError(thrown).message;
}

/** The code of a system error (`ENOENT`), of Postgres (SQLSTATE) or of this program; undefined of anything else. */
export function codeOf(thrown: unknown): string | undefined {
  const isCoded = typeof thrown === 'object' && thrown !== null && 'code' in thrown;
  return isCoded && typeof thrown.code === 'string' ? thrown.code : undefined;
}
