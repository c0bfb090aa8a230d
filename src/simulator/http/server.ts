import { text } from 'node:stream/consumers';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { systemClock, type Clock } from '../../clock.ts';
import { isAbort } from '../../errors.ts';
import { errorAnswer, htmlAnswer, type Answer } from './answer.ts';
import { Api, type Answering, type ApiOptions, type ApiRequest } from './api.ts';
import { Chain } from '../network/chain/chain.ts';
import type { ChainOptions } from '../network/chain/options.ts';
import { send } from './delivery.ts';
import type { Faults } from '../faults.ts';
import { Gateway, type GatewayOptions } from './gateway.ts';
import { Random } from '../random.ts';
import { isRecording } from '../recorded/recording/read-recording.ts';
import { Recording } from '../recorded/recording/recording.ts';
import { ChainSource, CorpusSource, type Head, type HeadOptions } from '../open-ledger.ts';
import { Stats, type RequestRecord } from './stats.ts';
import { Truth } from '../truth.ts';

export interface SimulatorOptions extends ChainOptions, HeadOptions, GatewayOptions, ApiOptions {
  /** Default 0: any free port. */
  readonly port?: number;
  /** Least and greatest delay of an answer, ms, after the limiter has counted its request. */
  readonly latencyMs?: readonly [number, number];
  readonly faults?: Faults;
  /** Serves the recorded data of this directory instead of a generated network: a corpus, or what `--record` wrote. */
  readonly corpus?: string;
  /** Answers a request in the server's stead, behind the gateway; undefined leaves it to the server. */
  readonly before?: (request: ApiRequest) => Answer | undefined;
  /** Changes an answer of the server. */
  readonly after?: (request: ApiRequest, answer: Answer) => Answer;
  readonly clock?: Clock;
}

/** A running simulator. */
export interface Simulator {
  readonly url: string;
  readonly port: number;
  /** The generated network as it really is, whatever faults hide of it; empty where recorded data are served. */
  readonly truth: Truth;
  /** What a recording holds, a line each; empty for anything else. */
  readonly contents: readonly string[];
  readonly stats: Stats;
  /** Read at each request: change it while the simulator runs. */
  readonly faults: Faults;
  /** Chain time of the head, unix seconds; can be set. */
  headTime: number;
  close(): Promise<void>;
}

/** Serves a network on 127.0.0.1 until it is closed. */
export async function startSimulator(options: SimulatorOptions = {}): Promise<Simulator> {
  const clock = options.clock ?? systemClock;
  const faults = options.faults ?? {};
  const stats = new Stats();
  const { head, answering, chain = new Chain(), contents } = openSite(options, faults, clock, stats);
  const site = new Site(options, { head, answering, faults, clock, stats });
  const server = createServer(
    { maxHeaderSize: LONGEST_HEAD },
    (request, response) => void site.handle(request, response),
  );
  server.keepAliveTimeout = 60_000;
  const port = await listen(server, options.port ?? 0);
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    truth: new Truth(chain),
    contents,
    stats,
    faults,
    get headTime() {
      return head.headTime;
    },
    set headTime(utime) {
      head.headTime = utime;
    },
    close: () => {
      site.stop();
      return close(server).finally(() => head.close());
    },
  };
}

/** Bytes of a request's line and headers that the real server takes. */
const LONGEST_HEAD = 1_048_576;

/** What a simulator serves. */
interface Served {
  readonly head: Head;
  readonly answering: Answering;
  /** The generated network, where it is one. */
  readonly chain?: Chain;
  readonly contents: readonly string[];
}

function openSite(options: SimulatorOptions, faults: Faults, clock: Clock, stats: Stats): Served {
  const { corpus, seed = 1 } = options;
  if (corpus !== undefined && isRecording(corpus)) {
    const recording = new Recording(corpus);
    return { answering: recording, head: standingAt(recording.latest), contents: recording.contents };
  }
  const source =
    corpus === undefined ? new ChainSource(options, faults, clock) : new CorpusSource(corpus, clock);
  const answering = new Api(source.ledger, options, faults, new Random(seed, 5), stats);
  const served = { head: source, answering, contents: [] };
  return source instanceof ChainSource ? { ...served, chain: source.chain } : served;
}

/** A recording is served as it is: all of it is visible, always. */
function standingAt(headTime: number): Head {
  const view = { headTime, head: undefined, seesMasterchain: () => true };
  return { headTime, view: () => view, close: () => undefined };
}

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

interface SiteParts {
  readonly head: Head;
  readonly answering: Answering;
  readonly faults: Faults;
  readonly clock: Clock;
  readonly stats: Stats;
}

/** One host: gateway, faults and server in the order in which a request meets them. */
class Site {
  private readonly stats: Stats;
  private readonly options: SimulatorOptions;
  private readonly head: Head;
  private readonly faults: Faults;
  private readonly clock: Clock;
  private readonly random: Random;
  private readonly gateway: Gateway;
  private readonly answering: Answering;
  private readonly stopping = new AbortController();

  constructor(options: SimulatorOptions, { head, answering, faults, clock, stats }: SiteParts) {
    this.options = options;
    this.head = head;
    this.answering = answering;
    this.faults = faults;
    this.clock = clock;
    this.stats = stats;
    const seed = options.seed ?? 1;
    this.random = new Random(seed, 3);
    this.gateway = new Gateway(options, faults, new Random(seed, 4), stats);
  }

  stop(): void {
    this.stopping.abort();
  }

  async handle(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(incoming.url ?? '/', 'http://localhost');
    const record = this.stats.arrived(url.pathname, url.searchParams, this.clock.monotonic());
    try {
      const answer = this.answer({ ...requestOf(incoming, url), body: await bodyOf(incoming) });
      await this.delay();
      await this.deliver(response, answer, record);
    } catch (error) {
      if (isAbort(error)) response.destroy();
      else this.fail(response, record, error);
    }
  }

  /** What the real server makes of a panic. */
  private fail(response: ServerResponse, record: RequestRecord, error: unknown): void {
    const { status, body, headers } = errorAnswer(500, `internal server error: ${String(error)}`);
    if (!response.headersSent) response.writeHead(status, headers);
    response.end(body);
    this.stats.answered(record, status);
  }

  private answer(request: ApiRequest): Answer {
    const key = request.header('x-api-key') ?? request.search.get('api_key') ?? undefined;
    const refusal = this.gateway.refusal(key, this.clock.monotonic());
    if (refusal !== undefined) return refusal;
    const custom = this.options.before?.(request);
    if (custom !== undefined) return custom;
    if (this.happens('badGateway')) return htmlAnswer(502, 'Bad Gateway');
    const stale = this.happens('stale') ? (this.faults.staleSeconds ?? 20) : 0;
    const answer = this.answering.answer(request, (behind) => this.head.view(stale + behind));
    return this.options.after?.(request, answer) ?? answer;
  }

  private happens(name: 'badGateway' | 'stale'): boolean {
    const happened = this.random.chance(this.faults[name] ?? 0);
    if (happened) this.stats.injected(name);
    return happened;
  }

  private async delay(): Promise<void> {
    const [least, most] = this.options.latencyMs ?? [0, 0];
    if (most > 0)
      await this.clock.sleep(least + (most - least) * this.random.fraction(), this.stopping.signal);
  }

  private async deliver(response: ServerResponse, answer: Answer, record: RequestRecord): Promise<void> {
    const broken = await send(response, answer, {
      faults: this.faults,
      random: this.random,
      clock: this.clock,
      signal: this.stopping.signal,
      stats: this.stats,
    });
    this.stats.answered(record, broken ? 0 : answer.status);
  }
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
