import { createHash } from 'node:crypto';
import { errorResponse, jsonResponse, textResponse, type HttpResponse } from './response.ts';
import { API_VERSIONS, type Build } from '../build.ts';
import type { Faults, UnservableRows } from '../faults.ts';
import type { Ledger } from '../ledger.ts';
import type { View } from '../network-view.ts';
import { Query } from './simulator-query.ts';
import { Random } from '../random.ts';
import { EVERYTHING, ltRange, type Route, type RouteRequest, type Routes } from './route.ts';
import { actionRoutes, traceRoutes } from './routes/actions-routes.ts';
import { blockRoutes } from './routes/blocks-routes.ts';
import { entityRoutes, newEntityRoutes, tokenRoutes } from './routes/entities-routes.ts';
import { messageRoutes, transactionRoutes } from './routes/transactions-routes.ts';
import { stakingRoutes } from './routes/staking.ts';
import { ServedError } from './served-error.ts';
import type { RequestLog } from './simulator-stats.ts';
import { answerV2, isV2 } from './v2/v2-api.ts';

/** The real server's error for a row that it cannot read from its database, or cannot print. */
const TEXTS = [
  "can't scan into dest[8]: cannot scan NULL into *string",
  '4294967296 is greater than maximum value for uint32',
  'json: unsupported value: NaN',
];

/** Members that identify a row: the first that exists counts. The identity decides whether the row can be served. */
const NAMES = ['action_id', 'complaint_hash', 'root_hash', 'hash', 'transaction_hash', 'tx_hash', 'trace_id'];
/** The same for rows without a hash. */
const NAMES_OF_OTHERS = ['nft_item_address', 'address', 'transaction_id'];

type ServedRecord = Readonly<{ [member: string]: unknown }>;

/** The error instead of a response with such a row; undefined if it has none. */
function failureFor(
  path: string,
  response: HttpResponse,
  { unservable = [], unservableAs = '500' }: Faults,
): HttpResponse | undefined {
  const own = unservable.filter((rows) => rows.path === path);
  if (own.length === 0 || response.status !== 200) return undefined;
  const row = recordsOf(JSON.parse(response.body.toString())).find((record) =>
    own.some((rows) => isOne(rows, record)),
  );
  if (row === undefined) return undefined;
  const { length } = TEXTS;
  const text = TEXTS[Math.floor(shareOf(row) * length * 1000) % length] ?? '';
  if (unservableAs === 'timeout') return errorResponse(500, 'timeout: context deadline exceeded');
  if (unservableAs === 'broken') return jsonResponse(200, response.body.toString().slice(0, -7));
  const status = Number(unservableAs);
  return path.startsWith('/api/v2/')
    ? jsonResponse(status, JSON.stringify({ ok: false, error: text, code: status }))
    : errorResponse(status, text);
}

function isOne(rows: UnservableRows, record: ServedRecord): boolean {
  return 'share' in rows ? shareOf(record) < rows.share : String(record[rows.member]) === rows.value;
}

/** A number from 0 to 1 that a row always has. */
function shareOf(record: ServedRecord): number {
  const name = [...NAMES, ...NAMES_OF_OTHERS].find((member) => record[member] !== undefined);
  const text = JSON.stringify(name === undefined ? record : record[name]);
  return createHash('sha256').update(text).digest().readUInt32BE() / 2 ** 32;
}

/** The records of a body: the elements of its lists, of v2 its result. */
function recordsOf(body: unknown): ServedRecord[] {
  if (!isRecord(body)) return [];
  const { result } = body;
  if (isRecord(result)) return [result];
  return Object.values(body)
    .filter((member) => Array.isArray(member))
    .flat()
    .filter(isRecord);
}

function isRecord(value: unknown): value is ServedRecord {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The archive of a server: a copy whose newest data are `lagSeconds` old. */
interface ArchiveOptions {
  /** Windows that began longer ago go to the archive. */
  readonly ageSeconds: number;
  readonly lagSeconds: number;
}

/** Lists that are split between the newest data and the archive. */
const SPLIT = new Set([
  '/api/v3/blocks',
  '/api/v3/transactions',
  '/api/v3/messages',
  '/api/v3/traces',
  '/api/v3/events',
  '/api/v3/actions',
  '/api/v3/jetton/transfers',
  '/api/v3/jetton/burns',
  '/api/v3/nft/transfers',
]);

/**
 * True if a request goes to the archive. A window that begins before the split goes there whole, even if a part of it is
 * in the newest data only. So does a scan upwards from the beginning.
 */
function asksArchive(path: string, query: Query, headTime: number, { ageSeconds }: ArchiveOptions): boolean {
  if (!SPLIT.has(path) || query.has('mc_seqno')) return false;
  const start = query.utime('start_utime');
  if (start !== undefined) return start < headTime - ageSeconds;
  return !query.has('start_lt') && ['asc', 'a'].includes((query.text('sort') ?? '').toLowerCase());
}

/** A request as it reaches the server behind the gateway. */
export interface ApiRequest {
  readonly method: string;
  readonly path: string;
  readonly search: URLSearchParams;
  /** Of a POST, else empty. */
  readonly body: string;
  readonly header: (name: string) => string | undefined;
}

/** Every path that both builds serve: a family of endpoints each has a file under routes/. */
const ROUTES: Routes = {
  ...blockRoutes,
  ...transactionRoutes,
  ...messageRoutes,
  ...actionRoutes,
  ...traceRoutes,
  ...tokenRoutes,
  ...entityRoutes,
};

/** Routes of v3. */
export const ROUTES_OF: Readonly<Record<Build, Routes>> = {
  '1.2': ROUTES,
  '1.3': { ...ROUTES, ...newEntityRoutes, ...stakingRoutes },
};

/** The view of a replica whose data are older by this many seconds than those of the one that took the request. */
type Views = (secondsBehind: number) => View;

/** Answers requests behind the gateway: the imitated server, or a recording of a real one. */
export interface Answering {
  answer(request: ApiRequest, views: Views): HttpResponse;
}

/** The server's own limit of a query. */
const QUERY_TIMEOUT_MS = 3000;
/** Endpoints whose truncated responses the real server does not notice. */
const BREAKING_OFF = new Set([
  '/api/v3/blocks',
  '/api/v3/masterchainBlockShards',
  '/api/v3/masterchainBlockShardState',
]);
const WITHOUT_LIMIT = new Set([
  '/api/v3/masterchainInfo',
  '/api/v3/masterchainBlockShardState',
  '/api/v3/adjacentTransactions',
  '/api/v3/nft/sales',
  '/api/v3/accountStates',
  '/api/v3/addressBook',
  '/api/v3/metadata',
]);
/** These wrap every failure as a 422. */
const FAILING_AS_422 = new Set(['/api/v3/accountStates', '/api/v3/dns/records']);

export interface ApiOptions {
  /** Which of the real servers is imitated; default 1.3. */
  readonly build?: Build;
  /** Build 1.3 only: what is old is answered by an archive that lags. Absent: there is none. */
  readonly archive?: ArchiveOptions;
}

interface ApiParts {
  readonly faults: Faults;
  readonly random: Random;
  readonly stats: RequestLog;
}

/** The server itself: decodes, routes, and turns errors into its own kind of response. */
export class Api implements Answering {
  private readonly ledger: Ledger;
  private readonly build: Build;
  private readonly faults: Faults;
  private readonly random: Random;
  private readonly stats: RequestLog;
  private readonly archive: ArchiveOptions | undefined;

  constructor(ledger: Ledger, options: ApiOptions, parts: ApiParts) {
    this.ledger = ledger;
    this.build = options.build ?? '1.3';
    this.archive = options.archive;
    this.faults = parts.faults;
    this.random = parts.random;
    this.stats = parts.stats;
  }

  /** Answers a request from the view of a replica. */
  answer(request: ApiRequest, views: Views): HttpResponse {
    if (request.path === '/healthcheck') return textResponse(200, 'OK');
    const headers = { 'x-api-version': API_VERSIONS[this.build] };
    const served = this.routeBefore(request, views);
    const failure = failureFor(request.path, served, this.faults);
    if (failure !== undefined) this.stats.injected('unservable');
    const response = failure ?? served;
    return { ...response, headers: { ...response.headers, ...headers } };
  }

  /** The network as it was before its pending reorganisations, if there are any. */
  private routeBefore(request: ApiRequest, views: Views): HttpResponse {
    const { beforeReorganisation } = this.ledger;
    if (beforeReorganisation === undefined || this.faults.reorganise === undefined)
      return this.route(request, views);
    const before = (text: string) => beforeReorganisation(text, views(0));
    const search = new URLSearchParams();
    for (const [name, value] of request.search) search.append(name, before(value));
    const response = this.route({ ...request, search }, views);
    const body = before(response.body.toString());
    if (body !== response.body.toString()) this.stats.injected('reorganise');
    return { ...response, body };
  }

  private route(request: ApiRequest, views: Views): HttpResponse {
    const { path, method } = request;
    if (this.faults.absent?.some((beginning) => path.startsWith(beginning)) === true) return noRoute(request);
    if (isV2(path)) return answerV2(request, this.ledger.node, views(0));
    const routes = ROUTES_OF[this.build];
    const route = Object.hasOwn(routes, path) ? routes[path] : undefined;
    if (route === undefined) return noRoute(request);
    return method === 'GET' || method === 'HEAD'
      ? this.answerRoute(request, route, views)
      : errorResponse(500, 'internal server error: Method Not Allowed');
  }

  private answerRoute(request: ApiRequest, route: Route, views: Views): HttpResponse {
    const { path } = request;
    try {
      const query = new Query(this.capped(request.search), this.faults.maxLimit);
      const queryMs = this.queryMs(path, query);
      const timeout = this.timeout(path, query, queryMs);
      if (timeout !== undefined) return timeout;
      const view = this.view(path, query, views);
      return { ...jsonResponse(200, route(this.routeRequest(request, query, view))), queryMs };
    } catch (error) {
      if (error instanceof ServedError) return errorResponse(error.status, error.message);
      throw error;
    }
  }

  /** Validators and pools are read from a copy; on 1.3, old data are, too. */
  private view(path: string, query: Query, views: Views): View {
    const { archive, build, faults } = this;
    if (Object.hasOwn(stakingRoutes, path)) return views(faults.staleEvents ?? 0);
    const newest = views(0);
    if (archive === undefined || build === '1.2') return newest;
    return asksArchive(path, query, newest.headTime, archive) ? views(archive.lagSeconds) : newest;
  }

  private routeRequest(request: ApiRequest, query: Query, view: View): RouteRequest {
    const breaks = BREAKING_OFF.has(request.path) && this.random.chance(this.faults.shortBlocks ?? 0);
    if (breaks) this.stats.injected('shortBlocks');
    return {
      query,
      header: request.header,
      view,
      build: this.build,
      ledger: this.ledger,
      random: new Random(this.random.next(), 2),
      noAddressBook: switchedOff(request, query, 'x_no_address_book'),
      noMetadata: switchedOff(request, query, 'x_no_metadata'),
      breaksOff: breaks,
    };
  }

  /** A server or gateway that returns fewer rows than were requested, without saying so. */
  private capped(search: URLSearchParams): URLSearchParams {
    const { capLimit } = this.faults;
    if (capLimit === undefined || Number(search.get('limit') ?? 0) <= capLimit) return search;
    this.stats.injected('capLimit');
    const capped = new URLSearchParams(search);
    capped.set('limit', String(capLimit));
    return capped;
  }

  /** A query that times out, because its page is too large or by chance. */
  private timeout(path: string, query: Query, queryMs: number): HttpResponse | undefined {
    const limit = query.int32('limit') ?? 100;
    const { timeoutAboveLimit = Infinity, timeout = 0 } = this.faults;
    const tooLarge = !WITHOUT_LIMIT.has(path) && limit > timeoutAboveLimit && limit <= query.most;
    const fault =
      queryMs > QUERY_TIMEOUT_MS ? 'scanSpeed' : tooLarge ? 'timeoutAboveLimit' : ('timeout' as const);
    if (fault === 'timeout' && !this.random.chance(timeout)) return undefined;
    this.stats.injected(fault);
    return timeoutResponse(path);
  }

  /** The time for scanning actions: all those whose traces end within the requested lts. */
  private queryMs(path: string, query: Query): number {
    const { scanSpeed } = this.faults;
    const named = ['account', 'trace_id', 'action_id', 'tx_hash', 'msg_hash', 'mc_seqno'];
    if (scanSpeed === undefined || path !== '/api/v3/actions' || named.some((name) => query.has(name)))
      return 0;
    return (1000 * this.ledger.traces.byLt(ltRange(query) ?? EVERYTHING).length) / scanSpeed;
  }
}

/**
 * The web framework's 404, which the server wraps: v3's paths are those that remain after the ones of its
 * documentation.
 */
function noRoute({ method, path }: ApiRequest): HttpResponse {
  return errorResponse(500, `internal server error: Cannot ${method} ${path.replace('/api/v3/', '')}`);
}

function timeoutResponse(path: string): HttpResponse {
  const text =
    path === '/api/v3/blocks'
      ? 'internal server error: query timeout 3s'
      : 'timeout: context deadline exceeded';
  return errorResponse(FAILING_AS_422.has(path) ? 422 : 500, text);
}

function switchedOff(request: ApiRequest, query: Query, name: string): boolean {
  if (query.bool(name) === true) return true;
  const header = request.header(name.replaceAll('_', '-'));
  return header !== undefined && ['1', 't', 'true'].includes(header.toLowerCase());
}
