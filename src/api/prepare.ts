import { UsageError } from '../errors.ts';
import type { Params } from '../dataset/paginator.ts';
import { toQuery } from './query.ts';
import { ACCEPT_ENCODING, type Outgoing } from './transport.ts';

/** A request of which everything is computed that can be before its slot. */
export interface Prepared {
  readonly path: string;
  readonly query: string;
  readonly outgoing: Outgoing;
}

/** A v3 path below the host, or a v2 method, with its parameters. */
type PreparableCall = ({ readonly path: string } | { readonly method: string }) & {
  readonly params?: Params | undefined;
  readonly timeoutMs?: number | undefined;
};

/** Makes a request of a call: a v2 method is its path. */
export type Preparer = (call: PreparableCall) => Prepared;

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
    const target = `${prefix}${path}${query === '' ? '' : `?${query}`}`;
    return { path, query, outgoing: { target, headers, label: `GET ${path}`, timeoutMs: own } };
  };
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
