import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { Writable } from 'node:stream';
import type { Clock } from '../../clock.ts';
import { type HttpResponse, gatewayError, jsonResponse } from './response.ts';
import type { Faults } from '../faults.ts';
import type { Random } from '../random.ts';
import type { RequestLog } from './simulator-stats.ts';
import { createRateLimiter, type RateLimit, type RateLimiter } from './rate-limiter.ts';

export interface GatewayOptions {
  /** Absent: no limit. */
  readonly rateLimit?: RateLimit;
  /** Known keys and the network that each was issued for. Absent: no key is checked. */
  readonly keys?: Readonly<Record<string, string>>;
  /** The network that this host serves; default `simulated`. */
  readonly network?: string;
  /** The limit of requests without a key; absent: the same limit as with one. */
  readonly anonymous?: RateLimit;
}

/** The delay that the refusals of a storm name. */
const STORM_MS = 1000;

/** The gateway in front of the server: keys and the rate limit. */
export class Gateway {
  private readonly options: GatewayOptions;
  private readonly faults: Faults;
  private readonly random: Random;
  private readonly stats: RequestLog;
  private readonly limiter: RateLimiter | undefined;
  private readonly anonymous: RateLimiter | undefined;
  private refusals = 0;
  private stormLeft = 0;

  constructor(options: GatewayOptions, faults: Faults, random: Random, stats: RequestLog) {
    this.options = options;
    this.faults = faults;
    this.random = random;
    this.stats = stats;
    const factor = (): number => (faults.lieAboutLimit === true ? 0.6 : 1);
    this.limiter = options.rateLimit === undefined ? undefined : createRateLimiter(options.rateLimit, factor);
    this.anonymous =
      options.anonymous === undefined ? undefined : createRateLimiter(options.anonymous, factor);
  }

  /** Counts an arrival, and returns why it is refused, if it is. `key`: undefined if none was sent. */
  refusal(key: string | undefined, nowMs: number): HttpResponse | undefined {
    const limiter = key === undefined ? (this.anonymous ?? this.limiter) : this.limiter;
    const waitMs = limiter?.admit(nowMs) ?? 0;
    if (waitMs > 0) return this.tooMany(waitMs);
    if (this.inStorm()) return this.tooMany(STORM_MS, this.faults.stormSays);
    return this.keyRefusal(key);
  }

  private says(): 'seconds' | undefined {
    const { rateLimit, anonymous } = this.options;
    return rateLimit?.retryAfter === true || anonymous?.retryAfter === true ? 'seconds' : undefined;
  }

  private keyRefusal(key: string | undefined): HttpResponse | undefined {
    const { keys, network = 'simulated' } = this.options;
    if (keys === undefined || key === undefined) return undefined;
    if (!Object.hasOwn(keys, key)) return gatewayError(401, 'API key does not exist');
    return keys[key] === network ? undefined : gatewayError(403, 'Network not allowed');
  }

  private inStorm(): boolean {
    const { storm } = this.faults;
    if (storm !== undefined && this.stormLeft === 0 && this.random.chance(storm.probability))
      this.stormLeft = storm.length;
    if (this.stormLeft === 0) return false;
    this.stormLeft--;
    this.stats.injected('storm');
    return true;
  }

  /** The two forms that clients have recorded, alternating. */
  private tooMany(waitMs: number, says: Faults['stormSays'] = this.says()): HttpResponse {
    const seconds = Math.ceil(waitMs / 1000);
    const forms = {
      seconds: () => String(seconds),
      date: () => new Date(Date.now() + 1000 * seconds).toUTCString(),
    };
    const headers: Record<string, string> = says === undefined ? {} : { 'retry-after': forms[says]() };
    const body =
      this.refusals++ % 2 === 0
        ? { ok: false, result: 'Ratelimit exceed', code: 429 }
        : { ok: false, code: 429, error: 'Ratelimit exceeded' };
    return jsonResponse(429, JSON.stringify(body), headers);
  }
}

interface Line {
  readonly faults: Faults;
  readonly random: Random;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly stats: RequestLog;
}

const PIECES = 10;
const DRIBBLE_MS = 1000;

/** The rest of a response that is still to be sent. */
interface Whole {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

type Delivery = (outgoing: ServerResponse, response: Whole, line: Line) => Promise<void>;

/** Sends a response, as far as the faults of the connection allow. Returns true if it was not sent completely. */
export async function send(outgoing: ServerResponse, response: HttpResponse, line: Line): Promise<boolean> {
  const { status, headers } = response;
  const body = typeof response.body === 'string' ? Buffer.from(response.body) : response.body;
  for (const [name, deliver] of FAULTY) {
    if (!line.random.chance(line.faults[name] ?? 0)) continue;
    line.stats.injected(name);
    await deliver(outgoing, { status, headers, body }, line);
    return !WHOLE.has(name);
  }
  outgoing.writeHead(status, withLength({ headers, body })).end(body);
  return false;
}

type LineFault =
  | 'reset'
  | 'resetInBody'
  | 'silentHead'
  | 'silentBody'
  | 'endlessHead'
  | 'endlessBody'
  | 'dribble'
  | 'truncatedJson'
  | 'slowBody';

/** Faults after which the server considers its response complete. */
const WHOLE: ReadonlySet<LineFault> = new Set(['truncatedJson', 'slowBody', 'dribble']);

const FAULTY: readonly (readonly [LineFault, Delivery])[] = [
  ['reset', cut],
  ['silentHead', closed],
  ['endlessHead', floodHead],
  ['resetInBody', sendHalfAnd(cut)],
  ['silentBody', sendHalfAnd(closed)],
  ['endlessBody', floodBody],
  ['dribble', (outgoing, response, line) => inPieces(outgoing, response, line, [1, DRIBBLE_MS])],
  ['truncatedJson', truncate],
  ['slowBody', trickle],
];

function withLength({ headers, body }: Pick<Whole, 'headers' | 'body'>): Record<string, string> {
  return { ...headers, 'content-length': String(body.length) };
}

function cut(outgoing: ServerResponse): Promise<void> {
  if (outgoing.socket === null) outgoing.destroy();
  else outgoing.socket.resetAndDestroy();
  return Promise.resolve();
}

/** Leaves the connection open until the client closes it. */
async function closed(outgoing: ServerResponse): Promise<void> {
  if (!outgoing.destroyed) await once(outgoing, 'close');
}

function sendHalfAnd(next: (outgoing: ServerResponse) => Promise<void>): Delivery {
  return async (outgoing, { status, headers, body }) => {
    outgoing.writeHead(status, withLength({ headers, body }));
    await new Promise<void>((resolve) => {
      outgoing.write(body.subarray(0, Math.floor(body.length / 2)), () => resolve());
    });
    await next(outgoing);
  };
}

async function floodHead(outgoing: ServerResponse): Promise<void> {
  const { socket } = outgoing;
  socket?.write('HTTP/1.1 200 OK\r\n');
  if (socket !== null) flood(socket, `x-more: ${'x'.repeat(1000)}\r\n`);
  await closed(outgoing);
}

async function floodBody(outgoing: ServerResponse, { status, headers }: Whole): Promise<void> {
  outgoing.writeHead(status, headers);
  flood(outgoing, ' '.repeat(65_536));
  await closed(outgoing);
}

/** Writes the same piece repeatedly, with backpressure. */
function flood(stream: Writable, piece: string): void {
  const more = () => {
    while (!stream.destroyed && stream.write(piece));
  };
  stream.on('drain', more);
  more();
}

function truncate(
  outgoing: ServerResponse,
  { status, headers, body }: Whole,
  { random }: Line,
): Promise<void> {
  const part = body.subarray(0, Math.floor(body.length * (0.2 + 0.7 * random.fraction())));
  outgoing.writeHead(status, withLength({ headers, body: part })).end(part);
  return Promise.resolve();
}

function trickle(outgoing: ServerResponse, response: Whole, line: Line): Promise<void> {
  const size = Math.max(1, Math.ceil(response.body.length / PIECES));
  return inPieces(outgoing, response, line, [size, (line.faults.slowBodyMs ?? 1000) / PIECES]);
}

async function inPieces(
  outgoing: ServerResponse,
  { status, headers, body }: Whole,
  { clock, signal }: Line,
  [size, pauseMs]: readonly [number, number],
): Promise<void> {
  outgoing.writeHead(status, withLength({ headers, body }));
  for (let at = 0; at < body.length && !outgoing.destroyed; at += size) {
    await clock.sleep(pauseMs, signal);
    outgoing.write(body.subarray(at, at + size));
  }
  outgoing.end();
}
