import { recordFailure } from '../db/coverage/failures.ts';
import type { Stream } from '../db/coverage/coverage.ts';
import type { Database } from '../db/connection/database.ts';
import { concernsRun, EtlError, IncompleteError, LeaseLostError, NoEndpointError } from '../errors.ts';
import type { Stop } from '../stop.ts';

/** The API is there, but does not answer this as it should: another range or dataset may fare better. */
const ANSWERED_WRONGLY: ReadonlySet<string> = new Set([
  'api_failed',
  'api_timeout',
  'request_too_large',
  'bad_response',
]);

interface FailurePolicy {
  readonly database: Database;
  /** Whose failure it is, for `status`. */
  readonly stream: Stream;
  readonly stop: Stop;
}

/**
 * Reads one range or walk, and decides what an error of it means for the others. What the API refuses for good concerns
 * this one alone; an API or a database that is away, the run's own cap and a mistake of the operator concern all.
 * @returns the error for which this one is to be refused; undefined where it was read, was lost to another worker, or
 * was stopped
 * @throws every error that concerns the others too
 */
export async function readUnlessRefused(
  { database, stream, stop }: FailurePolicy,
  read: () => Promise<void>,
): Promise<EtlError | undefined> {
  try {
    await read();
    return undefined;
  } catch (error) {
    if (stop.finishing.aborted || error instanceof LeaseLostError) return undefined;
    if (!(error instanceof EtlError) || error instanceof IncompleteError) throw error;
    await recordFailure(database, stream, error).catch(() => undefined);
    if (concernsRun(error) && !ANSWERED_WRONGLY.has(error.code)) throw error;
    return error;
  }
}

/** How loud a refusal is in the log: the client has said once that there is no such endpoint. */
export function levelOf(failure: EtlError): 'debug' | 'error' {
  return failure instanceof NoEndpointError ? 'debug' : 'error';
}
