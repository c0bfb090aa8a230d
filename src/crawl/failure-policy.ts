import type { ApiClient } from '../api/client.ts';
import { recordFailure } from '../ledger/failures.ts';
import { isFaultOfDatabase } from '../postgres/translate.ts';
import type { Stream } from '../ledger/stored-coverage.ts';
import {
  ApiUnavailableError,
  AuthError,
  concernsRun,
  EtlError,
  IncompleteError,
  LeaseLostError,
  NoEndpointError,
} from '../errors.ts';
import type { Stop } from '../stop.ts';
import type { CrawlContext } from './crawl-context.ts';
import { readChainInfo } from './chain-info.ts';

/** The API is there, but does not answer this as it should: another range or dataset may fare better. */
const ANSWERED_WRONGLY: ReadonlySet<string> = new Set([
  'api_failed',
  'api_timeout',
  'request_too_large',
  'bad_response',
]);

/** Attempts at a request of which it is known that it may never be answered well. */
export const ATTEMPTS_IN_DOUBT = 2;

interface FailurePolicy {
  readonly context: Pick<CrawlContext, 'api' | 'database'>;
  /** Whose failure it is, for `status`. */
  readonly stream: Stream;
  readonly stop: Stop;
}

/**
 * Reads one range or walk, and decides what an error of it means for the others. What the API refuses for good concerns
 * this one alone, and so does what it refuses or does not answer here while it answers what every run begins with. An API
 * or a database that is away, any other fault of the database, the run's own cap and a mistake of the operator concern all:
 * what was read is there at the source.
 * @returns the error for which this one is to be refused; undefined where it was read, was lost to another worker, or
 * was stopped
 * @throws every error that concerns the others too
 */
export async function readUnlessRefused(
  { context, stream, stop }: FailurePolicy,
  read: () => Promise<void>,
): Promise<EtlError | undefined> {
  try {
    await read();
    return undefined;
  } catch (error) {
    if (stop.finishing.aborted || error instanceof LeaseLostError) return undefined;
    if (!(error instanceof EtlError) || error instanceof IncompleteError) throw error;
    await recordFailure(context.database, stream, error).catch(() => undefined);
    if (isOfOneAlone(error)) return error;
    if (isOfSource(error) && (await answersElse(context, stop))) return error;
    throw error;
  }
}

/** True for what the API says, or fails to say, of one request: another range or dataset may fare better. */
export function isOfOneAlone(error: EtlError): boolean {
  return (!concernsRun(error) && !isFaultOfDatabase(error)) || isAnsweredWrongly(error);
}

/** True for what the API answers though it is there: it may be the trouble of what was asked for. */
export function isAnsweredWrongly({ code }: EtlError): boolean {
  return ANSWERED_WRONGLY.has(code);
}

/** What a source says for all it has, or a gateway for what lies behind one endpoint. */
function isOfSource(error: EtlError): boolean {
  return error instanceof AuthError || error instanceof ApiUnavailableError;
}

/** True where the source answers, though not what was asked for. */
async function answersElse({ api }: FailurePolicy['context'], stop: Stop): Promise<boolean> {
  return readChainInfo(api, stop.leaving).then(
    () => true,
    () => false,
  );
}

/** True where the server still says that it has no such endpoint: asked once, whatever it said before. */
export async function lacksEndpoint(api: ApiClient, path: string, signal: AbortSignal): Promise<boolean> {
  api.recheck(path);
  try {
    await api.get({
      path,
      params: { limit: 1 },
      priority: 'backfill',
      attemptsInDoubt: 1,
      signal,
      parse: () => true,
    });
    return false;
  } catch (error) {
    return error instanceof NoEndpointError;
  }
}

/** How loud a refusal is in the log: the client has said once that there is no such endpoint. */
export function levelOf(failure: EtlError): 'debug' | 'error' {
  return failure instanceof NoEndpointError ? 'debug' : 'error';
}
