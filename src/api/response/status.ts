import {
  ApiTimeoutError,
  ApiUnavailableError,
  AuthError,
  BadResponseError,
  LimitRefusedError,
  NoEndpointError,
  NotFoundError,
  RateLimitedError,
  RequestRefusedError,
  RequestTooLargeError,
  type EtlError,
} from '../../errors.ts';
import { ApiFailedError } from './api-failed-error.ts';
import { reasonOf, type Reason } from './reason.ts';

/** A response that is not a success. */
export interface RefusedResponse {
  readonly status: number;
  readonly body: string;
  /** For the message: `GET /api/v3/blocks`. */
  readonly label: string;
  readonly path: string;
  /** Whom the request was sent to, for the hints. */
  readonly host: string;
  readonly retryAfterMs: number | undefined;
  /** The server's `X-API-Version`: pages of gateways have none. */
  readonly apiVersion: string | undefined;
}

/** These wrap every failure of theirs as 422, also the database's timeout. */
const TIMEOUT_AS_422 = /\/(accountStates|walletStates|dns\/records)$/;
const TIMEOUT = /time(d )?-?out|deadline/i;
/** Build 1.2 answers 500 to parameters that it will never take. */
const PERMANENT_500 = /limit is not allowed|wrong value for sort/i;
const LIMIT_REFUSED = /limit is not allowed: \d+ > (\d+)/i;
/** The web framework's 404, which the server wraps as 500: a method and a path, the latter of v3 without a slash. */
const NO_ROUTE = /\bCannot (?:GET|HEAD|POST|PUT) [^\s<"]+\s*(?:$|<)/;
/** What web frameworks say of a path that they do not know, and of nothing else: a 404 of data names what is not there. */
const BARE_NOT_FOUND =
  /^(?:internal server error: )?(?:404:? )?(?:page |route |path |method |endpoint )?(?:not found|does not exist)[.!]?$/i;
const BARE_NO_METHOD =
  /^(?:internal server error: )?(?:405:? |501:? )?(?:method not allowed|not implemented)[.!]?$/i;
/** Of a page so many characters are searched. */
const LONGEST_PAGE = 10_000;
/** The method is not allowed, or not implemented: this program only sends GET, which all of its endpoints take. */
const NO_METHOD = new Set([405, 501]);
/** 413, 414 and 431 are a gateway's: the list of addresses was too long, and half of it may pass. */
const TOO_LARGE = new Set([413, 414, 431]);
const COMES_BACK = new Set([408, 425]);

/**
 * What a response that is not 200 means for the caller. Statuses lie (401 for a missing parameter, 422 or 500 for a
 * timeout, 500 for a bad parameter, 429 in several shapes), so this is the one place that reads them.
 */
export function errorOfStatus(refusal: RefusedResponse): EtlError {
  const { status } = refusal;
  const reason = reasonOf(refusal.body);
  const message = `${refusal.label} was answered ${status}: ${reason.text}`;
  if (status === 429)
    return new RateLimitedError(message, { hint: RATE_HINT, retryAfterMs: refusal.retryAfterMs });
  if (status >= 500) return serverError(refusal, message, reason);
  if (status >= 400) return clientError(refusal, message, reason);
  return new BadResponseError(message, {
    hint: `${refusal.host} does not answer by itself: check TONCENTER_NETWORK.`,
  });
}

function serverError(refusal: RefusedResponse, message: string, reason: Reason): EtlError {
  const { status, retryAfterMs } = refusal;
  const away = { hint: AWAY_HINT, retryAfterMs };
  if (lacksRoute(refusal, reason)) return new NoEndpointError(message, { hint: NO_ROUTE_HINT });
  if (!reason.own) return new ApiUnavailableError(message, away);
  if (status === 500 && PERMANENT_500.test(reason.text)) return requestRefused(message, reason);
  if (status === 500 && TIMEOUT.test(reason.text))
    return new ApiTimeoutError(message, { hint: TIMEOUT_HINT, retryAfterMs });
  if (status === 500 || status === 542) return new ApiFailedError(message, away);
  return new ApiUnavailableError(message, away);
}

function clientError(refusal: RefusedResponse, message: string, reason: Reason): EtlError {
  const { status, path } = refusal;
  const auth = authHint(refusal, reason);
  if (auth !== undefined) return new AuthError(message, { hint: auth });
  if (status === 422 && TIMEOUT_AS_422.test(path) && TIMEOUT.test(reason.text)) {
    return new ApiTimeoutError(message, { hint: TIMEOUT_HINT });
  }
  if (TOO_LARGE.has(status)) return new RequestTooLargeError(message, { hint: 'Ask for less at once.' });
  if (COMES_BACK.has(status)) return new ApiUnavailableError(message, { hint: AWAY_HINT });
  if (lacksRoute(refusal, reason)) return new NoEndpointError(message, { hint: NO_ROUTE_HINT });
  return reason.own ? ownError(status, message, reason) : pageError(refusal, message);
}

/** True where the response says that the server has no such endpoint, in one of the forms that servers have for it. */
function lacksRoute({ status, body, apiVersion }: RefusedResponse, { own, text }: Reason): boolean {
  if (NO_METHOD.has(status)) return own || apiVersion !== undefined;
  if (own && BARE_NO_METHOD.test(text)) return true;
  if (NO_ROUTE.test(own ? text : body.slice(0, LONGEST_PAGE))) return true;
  if (own) return (status === 404 || status === 500) && BARE_NOT_FOUND.test(text);
  return status === 404 && apiVersion !== undefined;
}

function ownError(status: number, message: string, reason: Reason): EtlError {
  return status === 404 ? new NotFoundError(message) : requestRefused(message, reason);
}

/** What is no answer of the API: a page of the server itself, or one of a gateway, perhaps for a while. */
function pageError({ apiVersion }: RefusedResponse, message: string): EtlError {
  return apiVersion === undefined
    ? new ApiFailedError(message, { hint: GATEWAY_HINT })
    : new RequestRefusedError(message);
}

function requestRefused(message: string, { text }: Reason): RequestRefusedError {
  const most = LIMIT_REFUSED.exec(text)?.[1];
  return most === undefined ? new RequestRefusedError(message) : new LimitRefusedError(message, Number(most));
}

/** What to do about the key; undefined where the key is not the matter. A 401 may speak of a missing parameter. */
function authHint({ status, host }: RefusedResponse, reason: Reason): string | undefined {
  if (status === 401 && !(reason.own && / required/i.test(reason.text)))
    return `Check TONCENTER_API_KEY: ${host} does not know it. A key belongs to one network (TONCENTER_NETWORK).`;
  if (status === 403 && reason.own)
    return `Check that TONCENTER_API_KEY was issued for the network of ${host} (TONCENTER_NETWORK).`;
  return undefined;
}

const RATE_HINT =
  'Lower TONCENTER_RPS, or see who else uses the key: the limit counts all processes of a network.';
const AWAY_HINT = 'The API is in trouble; what was read is kept. Try again later.';
const GATEWAY_HINT = 'A gateway answers for the API, perhaps for a while: open the URL in a browser.';
const TIMEOUT_HINT =
  'The server gives each query three seconds, which did not suffice: it is busy; try again later.';
const NO_ROUTE_HINT =
  "This server may not have the endpoint: builds differ (see the response's X-API-Version).";
