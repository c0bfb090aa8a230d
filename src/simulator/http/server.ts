import { text } from 'node:stream/consumers';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { isAbort } from '../../errors.ts';
import { errorResponse, gatewayError, htmlResponse, type HttpResponse } from './response.ts';
import { type ApiRequest, Api, type Answering, type ApiOptions } from './api.ts';
import { send, Gateway, type GatewayOptions } from './delivery.ts';
import type { Faults } from '../faults.ts';
import { Random } from '../random.ts';
import { type RequestRecord, RequestLog } from './simulator-stats.ts';
import { systemClock, type Clock } from '../../clock.ts';
import type { Head, HeadOptions, ServedNetwork } from '../head.ts';
import type { Ledger } from '../ledger.ts';
import { type ChainOptions, resolveChainOptions } from '../network/chain/options.ts';
import { CorpusSource } from '../recorded/corpus/corpus-ledger.ts';
import { isRecording } from '../recorded/recording/read-recording.ts';
import { Recording } from '../recorded/recording/recording.ts';
import { ChainLedger } from '../network/ledger/chain-ledger.ts';
import type { View } from '../network-view.ts';
import { Visibility } from '../network/ledger/visibility.ts';
import { Generator } from '../network/chain/generate/generator.ts';
import { World } from '../network/chain/world.ts';

export interface SimulatorOptions extends SiteOptions, GatewayOptions {
  /** Default 0: any free port. */
  readonly port?: number;
  /** Least and greatest delay of a response, ms, after the limiter has counted its request. */
  readonly latencyMs?: readonly [number, number];
}

/** A running simulator. */
export interface Simulator {
  readonly url: string;
  readonly port: number;
  /** What a recording holds, a line each; empty for anything else. */
  readonly contents: readonly string[];
  readonly stats: RequestLog;
  /** Read at each request: change it while the simulator runs. */
  readonly faults: Faults;
  /** Chain time of the head, unix seconds; can be set. */
  headTime: number;
  close(): Promise<void>;
}

/** Serves a network on 127.0.0.1 until it is closed. */
export function startSimulator(options: SimulatorOptions = {}): Promise<Simulator> {
  return serveSite(openSite(options), options);
}

/** Serves what was opened on 127.0.0.1 until it is closed. */
export async function serveSite(site: Site, options: SimulatorOptions): Promise<Simulator> {
  const { head, faults, stats } = site;
  const host = new Host(site, options);
  const server = createServer(
    { maxHeaderSize: LONGEST_HEAD },
    (request, response) => void host.handle(request, response),
  );
  server.keepAliveTimeout = 60_000;
  const port = await listen(server, options.port ?? 0);
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    contents: site.contents,
    stats,
    faults,
    get headTime() {
      return head.headTime;
    },
    set headTime(utime) {
      head.headTime = utime;
    },
    close: () => {
      host.stop();
      return close(server);
    },
  };
}

/** Bytes of a request's line and headers that the real server takes. */
const LONGEST_HEAD = 1_048_576;

function listen(server: Server, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => {
      const address = server.address();
      resolve(typeof address === 'object' && address !== null ? address.port : port);
    });
  });
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => {
      resolve();
    });
    server.closeAllConnections();
  });
}

/** One host: gateway, faults and server, in the order in which a request passes them. */
class Host {
  private readonly site: Site;
  private readonly options: SimulatorOptions;
  private readonly random: Random;
  private readonly gateway: Gateway;
  private readonly stopping = new AbortController();

  constructor(site: Site, options: SimulatorOptions) {
    this.site = site;
    this.options = options;
    const seed = options.seed ?? 1;
    this.random = new Random(seed, 3);
    this.gateway = new Gateway(options, site.faults, new Random(seed, 4), site.stats);
  }

  stop(): void {
    this.stopping.abort();
  }

  async handle(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const url = new URL(incoming.url ?? '/', 'http://localhost');
    const record = this.site.stats.arrived(url.pathname, url.searchParams, this.site.clock.monotonic());
    try {
      const response = this.answer({ ...requestOf(incoming, url), body: await bodyOf(incoming) });
      await this.delay(response);
      await this.deliver(outgoing, response, record);
    } catch (error) {
      if (isAbort(error)) outgoing.destroy();
      else this.fail(outgoing, record, error);
    }
  }

  /** The real server's response to a panic. */
  private fail(outgoing: ServerResponse, record: RequestRecord, error: unknown): void {
    const { status, body, headers } = errorResponse(500, `internal server error: ${String(error)}`);
    if (!outgoing.headersSent) outgoing.writeHead(status, headers);
    outgoing.end(body);
    this.site.stats.answered(record, status);
  }

  private answer(request: ApiRequest): HttpResponse {
    const key = request.header('x-api-key') ?? request.search.get('api_key') ?? undefined;
    const refusal = this.gateway.refusal(key, this.site.clock.monotonic());
    if (refusal !== undefined) return refusal;
    if (this.happens('badGateway')) return htmlResponse(502, 'Bad Gateway');
    if (this.happens('refusal')) return refusalOf(request, this.random);
    const stale = this.happens('stale') ? (this.site.faults.staleSeconds ?? 20) : 0;
    return this.site.answering.answer(request, (behind) => this.site.head.view(stale + behind));
  }

  private happens(name: 'badGateway' | 'refusal' | 'stale'): boolean {
    const happened = this.random.chance(this.site.faults[name] ?? 0);
    if (happened) this.site.stats.injected(name);
    return happened;
  }

  private async delay({ queryMs = 0 }: HttpResponse): Promise<void> {
    const [least, most] = this.options.latencyMs ?? [0, 0];
    const latencyMs = most > 0 ? least + (most - least) * this.random.fraction() : 0;
    if (queryMs + latencyMs > 0) await this.site.clock.sleep(queryMs + latencyMs, this.stopping.signal);
  }

  private async deliver(
    outgoing: ServerResponse,
    response: HttpResponse,
    record: RequestRecord,
  ): Promise<void> {
    const broken = await send(outgoing, response, {
      faults: this.site.faults,
      random: this.random,
      clock: this.site.clock,
      signal: this.stopping.signal,
      stats: this.site.stats,
    });
    this.site.stats.answered(record, broken ? 0 : response.status);
  }
}

/**
 * Responses, to any request, of a server that is being deployed, of a bot check, or of a gateway whose keys are being
 * renewed.
 */
function refusalOf({ method, path }: ApiRequest, random: Random): HttpResponse {
  const refusals = [
    errorResponse(400, 'bad request'),
    gatewayError(401, 'API key does not exist'),
    gatewayError(402, 'Payment required'),
    htmlResponse(403, 'Just a moment...'),
    htmlResponse(404, 'Not Found'),
    errorResponse(500, `internal server error: Cannot ${method} ${path}`),
  ] as const;
  return refusals[random.below(refusals.length)] ?? refusals[0];
}

function bodyOf(incoming: IncomingMessage): Promise<string> {
  return incoming.method === 'POST' ? text(incoming) : Promise.resolve('');
}

function requestOf(incoming: IncomingMessage, url: URL): Omit<ApiRequest, 'body'> {
  return {
    method: incoming.method ?? 'GET',
    path: url.pathname,
    search: url.searchParams,
    header: (name) => {
      const value = incoming.headers[name];
      return Array.isArray(value) ? value[0] : value;
    },
  };
}

interface SiteOptions extends ChainOptions, HeadOptions, ApiOptions {
  readonly faults?: Faults;
  /** Serves the recorded data of this directory instead of a generated network: a corpus, or what `--record` wrote. */
  readonly corpus?: string;
  readonly clock?: Clock;
}

/** The data that a host serves, and the server that serves them. */
export interface Site {
  readonly head: Head;
  readonly answering: Answering;
  /** What a recording holds, a line each; empty for anything else. */
  readonly contents: readonly string[];
  readonly faults: Faults;
  readonly clock: Clock;
  readonly stats: RequestLog;
}

/** Opens a recording, a corpus or a generated network, as the options say. */
export function openSite(options: SiteOptions): Site {
  const { corpus } = options;
  const parts = partsOf(options);
  if (corpus === undefined) {
    const source = new ChainSource(options, parts.faults, parts.clock);
    return siteOf(source, source.ledger, options, parts);
  }
  if (isRecording(corpus)) {
    const recording = new Recording(corpus);
    const head = standingAt(recording.latest);
    return { ...parts, head, answering: recording, contents: recording.contents };
  }
  const source = new CorpusSource(corpus, parts.clock);
  return siteOf(source, source.ledger, options, parts);
}

type Parts = Pick<Site, 'faults' | 'clock' | 'stats'>;

export function partsOf(options: SiteOptions): Parts {
  return { faults: options.faults ?? {}, clock: options.clock ?? systemClock, stats: new RequestLog() };
}

/** The site that imitates the server over a ledger. */
export function siteOf(head: Head, ledger: Ledger, options: SiteOptions, parts: Parts): Site {
  const answering = new Api(ledger, options, { ...parts, random: new Random(options.seed ?? 1, 5) });
  return { ...parts, head, answering, contents: [] };
}

/** A recording is served as it is: all of it is visible, always. */
function standingAt(headTime: number): Head {
  const view = { headTime, head: undefined, seesMasterchain: () => true };
  return { headTime, view: () => view };
}

/** A generated network whose head is fixed or moves with the wall clock. */
export class ChainSource implements ServedNetwork {
  readonly chain: Chain;
  readonly ledger: ChainLedger;
  private readonly visibility: Visibility;
  private readonly clock: Clock;
  private readonly speed: number;
  private base: number;
  private baseAt: number;

  constructor(options: ChainOptions & HeadOptions, faults: Faults, clock: Clock) {
    this.clock = clock;
    this.speed = options.live === undefined ? 0 : (options.live.speed ?? 1);
    this.baseAt = clock.monotonic();
    const liveHead =
      options.live === undefined ? undefined : (options.live.head ?? Math.floor(clock.now() / 1000));
    this.chain = new Chain({ ...options, ...missingBounds(options, liveHead) });
    this.base = liveHead ?? options.headTime ?? this.chain.world.options.end;
    this.ledger = new ChainLedger(this.chain.world, faults);
    this.visibility = new Visibility(this.chain.world, faults);
    this.chain.extendTo(this.base);
  }

  get headTime(): number {
    return this.base + ((this.clock.monotonic() - this.baseAt) / 1000) * this.speed;
  }

  set headTime(utime: number) {
    this.base = utime;
    this.baseAt = this.clock.monotonic();
  }

  view(staleSeconds: number): View {
    const head = this.headTime - staleSeconds;
    this.chain.extendTo(this.headTime);
    return this.visibility.at(head);
  }
}

/** By default a live network begins an hour before its head, and another one lasts an hour. */
function missingBounds(options: ChainOptions & HeadOptions, liveHead: number | undefined): ChainOptions {
  if (liveHead !== undefined) return options.start === undefined ? { start: liveHead - HOUR } : {};
  return options.headTime === undefined && options.duration === undefined ? { duration: HOUR } : {};
}

const HOUR = 3600;

/** A generated network that grows on demand. Equal options give equal networks, however far each has grown. */
export class Chain {
  readonly world: World;
  private readonly generator: Generator;

  constructor(options: ChainOptions = {}) {
    this.world = new World(resolveChainOptions(options));
    this.generator = new Generator(this.world);
  }

  /** Generates every masterchain block up to a second, or up to the network's end. */
  extendTo(utime: number): this {
    while (!this.generator.isOver && this.generator.nextUtime <= utime) this.generator.step();
    return this;
  }

  /** Generates a finite network whole. */
  extendToEnd(): this {
    return this.extendTo(this.world.options.end);
  }
}
