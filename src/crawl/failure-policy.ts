import { recordFailure, type Stream } from '../ledger/stored-coverage.ts';
import { isFaultOfDatabase } from '../postgres/translate.ts';
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

/** The API is up, but does not answer this request as it should. Another range or dataset may fare better. */
const ANSWERED_WRONGLY: ReadonlySet<string> = new Set([
  'api_failed',
  'api_timeout',
  'request_too_large',
  'bad_response',
]);

interface FailurePolicy {
  readonly context: Pick<CrawlContext, 'api' | 'database'>;
  /** The stream whose failure `status` shows. */
  readonly stream: Stream;
  readonly stop: Stop;
}

/**
 * Reads one range or walk, and decides whether its error also stops the others.
 *
 * An error stops only this one if the API refuses it for good, or if the API fails here but still answers the request
 * with which every run begins. An error stops all if the API is down, the database fails, the run's own cap is reached,
 * or a setting is wrong. In these cases the data is still at the source.
 * @returns the error that refuses this range or walk; undefined if it was read, lost to another worker, or stopped
 * @throws every error that stops the others too
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

/** True if the error is about one request only: another range or dataset may fare better. */
export function isOfOneAlone(error: EtlError): boolean {
  return (!concernsRun(error) && !isFaultOfDatabase(error)) || isAnsweredWrongly(error);
}

/** True if the API is up but answers badly: the cause may be the requested data. */
export function isAnsweredWrongly({ code }: EtlError): boolean {
  return ANSWERED_WRONGLY.has(code);
}

/** True if a source sends the error for everything, or a gateway for one endpoint. */
function isOfSource(error: EtlError): boolean {
  return error instanceof AuthError || error instanceof ApiUnavailableError;
}

/** True if the source answers another request. */
async function answersElse({ api }: FailurePolicy['context'], stop: Stop): Promise<boolean> {
  return readChainInfo(api, stop.leaving).then(
    () => true,
    () => false,
  );
}

/** The log level of a refusal. The client has already logged a missing endpoint once. */
export function levelOf(failure: EtlError): 'debug' | 'error' {
  return failure instanceof NoEndpointError ? 'debug' : 'error';
}
