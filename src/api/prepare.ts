import { UsageError } from '../errors.ts';
import type { Param, Params } from '../dataset/paginators/paginator.ts';
import { ACCEPT_ENCODING, type Outgoing } from './transport.ts';

/** A request of which everything is computed that can be before its slot. */
export interface Prepared {
  readonly path: string;
  /** What the server has or lacks: the path, or a method over the common route. */
  readonly route: string;
  readonly query: string;
  readonly outgoing: Outgoing;
}

/**
 * A v3 path below the host, or a v2 method, with its parameters. `byRpc`: the method is called over the one route that v2
 * has for all of them.
 */
type PreparableCall = ({ readonly path: string } | { readonly method: string; readonly byRpc?: boolean }) & {
  readonly params?: Params | undefined;
  readonly timeoutMs?: number | undefined;
};

/** Makes a request of a call: a v2 method is its path, however it is called. */
export type Preparer = (call: PreparableCall) => Prepared;

/** The one route by which every v2 method can be called. */
const RPC = '/api/v2/jsonRPC';
/** Parameters that are numbers in a body, where others are text; in a query all are text. */
const NUMBERS = new Set(['limit', 'workchain', 'seqno', 'from_seqno']);

/** Whole things of a known size. What answers there with more is not the API, and may be asked again. */
const LARGEST_THINGS: Readonly<Record<string, number>> = {
  '/api/v3/masterchainInfo': 2 ** 16,
  '/api/v2/getMasterchainInfo': 2 ** 16,
  '/api/v3/masterchainBlockShardState': 2 ** 22,
  '/api/v2/tryLocateTx': 2 ** 24,
  '/api/v2/getExtendedAddressInformation': 2 ** 24,
  '/api/v2/getShardBlockProof': 2 ** 24,
};
/** Of a list of few rows one may still be large, as a trace of thousands of transactions is. */
const LARGEST_ROW = 2 ** 25;
/** Far more than a row of many takes. */
const LARGE_ROW = 2 ** 17;
/** More than this is no page of the API, and several of them at once would fill the memory. */
const LARGEST_LIST = 2 ** 27;

/** The most bytes that a response may have. */
function mostBytesOf(path: string, { limit }: Params): Outgoing['most'] {
  const bytes = LARGEST_THINGS[path];
  if (bytes !== undefined) return { bytes, isList: false };
  const ofRows = typeof limit === 'number' ? LARGEST_ROW + limit * LARGE_ROW : LARGEST_LIST;
  return { bytes: Math.min(ofRows, LARGEST_LIST), isList: true };
}

interface PreparerOptions {
  /** Path before `/api`, without a slash at its end. */
  readonly prefix: string;
  readonly apiKey?: string | undefined;
  readonly userAgent?: string;
  readonly timeoutMs?: number;
}

const TIMEOUT_MS = 30_000;

export function createPreparer({
  prefix,
  apiKey,
  userAgent,
  timeoutMs = TIMEOUT_MS,
}: PreparerOptions): Preparer {
  const headers: Readonly<Record<string, string>> = {
    accept: 'application/json',
    'accept-encoding': ACCEPT_ENCODING,
    'user-agent': userAgent ?? 'toncenter-etl',
    ...(apiKey !== undefined && { 'x-api-key': checkedKey(apiKey) }),
  };
  return ({ params = {}, timeoutMs: own = timeoutMs, ...call }) => {
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
  // Anything else would be refused by the HTTP layer, whose message might repeat it.
  if (/^[\x21-\x7e]+$/.test(key)) return key;
  throw new UsageError('The API key holds characters that no key has', { hint: 'Check TONCENTER_API_KEY.' });
}

interface BaseUrl {
  readonly origin: string;
  readonly host: string;
  readonly prefix: string;
}

/** Takes the base URL of the API apart. Its messages do not repeat it: it may hold what belongs nowhere. */
export function readBaseUrl(text: string): BaseUrl {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    throw new UsageError('The base URL of the API is not an http(s) URL', { hint: BASE_URL_HINT });
  }
  if (url.username !== '' || url.password !== '' || url.search !== '') {
    throw new UsageError('The base URL of the API may hold neither a query nor a password', {
      hint: BASE_URL_HINT,
    });
  }
  return { origin: url.origin, host: url.host, prefix: url.pathname.replace(/\/+$/, '') };
}

const BASE_URL_HINT =
  'Set TONCENTER_NETWORK to mainnet, testnet, demo or a URL like https://toncenter.com; a key goes to TONCENTER_API_KEY.';

/**
 * The query string of a request, without `?`. Arrays become repeated keys, the one form that the API reads for every
 * parameter; undefined is left out.
 *
 * The API ignores what it does not understand and then answers for everything, so what would silently drop a filter
 * (an empty list, an empty text, a number that is none) is a UsageError, and so is a key in the URL.
 */
export function toQuery(params: Params): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) {
    if (value === undefined) continue;
    if (/^(api_key|x-api-key)$/i.test(name)) {
      throw new UsageError('An API key may not travel in a URL', { hint: 'Set TONCENTER_API_KEY instead.' });
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
