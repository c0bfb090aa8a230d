import { UsageError } from '../errors.ts';
import type { Param, Params } from '../dataset/paginators/paginator.ts';
import { ACCEPT_ENCODING, type Outgoing } from './transport.ts';

/** A request with everything that can be computed before its slot. */
export interface Prepared {
  readonly path: string;
  /** What the server has or lacks: the path, or a method on the common route. */
  readonly route: string;
  readonly query: string;
  readonly outgoing: Outgoing;
}

/**
 * A v3 path below the host, or a v2 method, with its parameters. `byRpc`: the method is called on the common
 * route of v2.
 */
type PreparableCall = ({ readonly path: string } | { readonly method: string; readonly byRpc?: boolean }) & {
  readonly params?: Params | undefined;
  readonly timeoutMs?: number | undefined;
};

/** The route on which every v2 method can be called. */
const RPC = '/api/v2/jsonRPC';
/** Parameters that are numbers in a JSON-RPC body. In a query all parameters are text. */
const NUMBERS = new Set(['limit', 'workchain', 'seqno', 'from_seqno']);

/** Single objects of a known size. If more bytes come, the API did not send them, and the request may be retried. */
const LARGEST_THINGS: Readonly<Record<string, number>> = {
  '/api/v3/masterchainInfo': 2 ** 16,
  '/api/v2/getMasterchainInfo': 2 ** 16,
  '/api/v3/masterchainBlockShardState': 2 ** 22,
  '/api/v2/tryLocateTx': 2 ** 24,
  '/api/v2/getExtendedAddressInformation': 2 ** 24,
  '/api/v2/getShardBlockProof': 2 ** 24,
};
/** A list of few rows may still be large, such as a trace of thousands of transactions. */
const LARGEST_ROW = 2 ** 25;
/** Far more than one of many rows takes. */
const LARGE_ROW = 2 ** 17;
/** The API sends no larger page, and several of them at once would fill the memory. */
const LARGEST_LIST = 2 ** 27;

/** Maximum number of bytes in a response. */
function mostBytesOf(path: string, { limit }: Params): Outgoing['most'] {
  const bytes = LARGEST_THINGS[path];
  if (bytes !== undefined) return { bytes, isList: false };
  const ofRows = typeof limit === 'number' ? LARGEST_ROW + limit * LARGE_ROW : LARGEST_LIST;
  return { bytes: Math.min(ofRows, LARGEST_LIST), isList: true };
}

interface PreparerOptions {
  /** Path before `/api`, without a trailing slash. */
  readonly prefix: string;
  readonly apiKey?: string | undefined;
  readonly userAgent?: string;
  readonly timeoutMs?: number;
}

const TIMEOUT_MS = 30_000;

export function createPreparer({ prefix, apiKey, userAgent, timeoutMs = TIMEOUT_MS }: PreparerOptions) {
  const headers: Readonly<Record<string, string>> = {
    accept: 'application/json',
    'accept-encoding': ACCEPT_ENCODING,
    'user-agent': userAgent ?? 'toncenter-etl',
    ...(apiKey !== undefined && { 'x-api-key': checkedKey(apiKey) }),
  };
  /** Prepares a request. The path of a v2 method is the same on either route. */
  return ({ params = {}, timeoutMs: own = timeoutMs, ...call }: PreparableCall): Prepared => {
    const path = 'path' in call ? call.path : `/api/v2/${call.method}`;
    const query = toQuery(params);
    const shared = { headers, timeoutMs: own, most: mostBytesOf(path, params) };
    if ('method' in call && call.byRpc === true) {
      const label = `POST ${RPC} ${call.method}`;
      const body = rpcBody(call.method, params);
      return {
        path,
        route: `${RPC}#${call.method}`,
        query,
        outgoing: { ...shared, target: `${prefix}${RPC}`, body, label },
      };
    }
    const target = `${prefix}${path}${query === '' ? '' : `?${query}`}`;
    return { path, route: path, query, outgoing: { ...shared, target, label: `GET ${path}` } };
  };
}

function rpcBody(method: string, params: Params): string {
  const given = Object.entries(params).map(([name, value]): [string, Param] => [
    name,
    NUMBERS.has(name) && typeof value === 'string' ? Number(value) : value,
  ]);
  const named: Params = Object.fromEntries(given);
  return JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: named });
}

function checkedKey(key: string): string {
  // The HTTP layer would refuse any other key, and its message might repeat the key.
  if (/^[\x21-\x7e]+$/.test(key)) return key;
  throw new UsageError('The API key contains invalid characters', { hint: 'Check TONCENTER_API_KEY.' });
}

interface BaseUrl {
  readonly origin: string;
  readonly host: string;
  readonly prefix: string;
}

/** Parses the base URL of the API. The error messages do not repeat it, because it may contain secrets. */
export function readBaseUrl(text: string): BaseUrl {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    throw new UsageError('The base URL of the API is not an http(s) URL', { hint: BASE_URL_HINT });
  }
  if (url.username !== '' || url.password !== '' || url.search !== '') {
    throw new UsageError('The base URL of the API must not contain a query or a password', {
      hint: BASE_URL_HINT,
    });
  }
  return { origin: url.origin, host: url.host, prefix: url.pathname.replace(/\/+$/, '') };
}

const BASE_URL_HINT =
  'Set TONCENTER_NETWORK to mainnet, testnet, demo or a URL like https://toncenter.com; a key goes to TONCENTER_API_KEY.';

/**
 * The query string of a request, without `?`. Arrays become repeated keys, the only form that the API accepts for every
 * parameter; undefined is omitted.
 *
 * The API ignores values that it does not understand and then answers for everything. So values that would silently
 * drop a filter (an empty list, an empty text, a number that is none) throw a UsageError, and so does a key in the URL.
 */
export function toQuery(params: Params): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) {
    if (value === undefined) continue;
    if (/^(api_key|x-api-key)$/i.test(name)) {
      throw new UsageError('An API key must not be in a URL', { hint: 'Set TONCENTER_API_KEY instead.' });
    }
    const values = typeof value === 'object' ? value : [value];
    if (values.length === 0) throw new UsageError(`The parameter ${name} is an empty list`);
    for (const one of values) query.append(name, printed(name, one));
  }
  return query.toString();
}

function printed(name: string, value: string | number | boolean): string {
  if (value === '' || (typeof value === 'number' && !Number.isFinite(value))) {
    throw new UsageError(`The parameter ${name} has no value`);
  }
  return String(value);
}
