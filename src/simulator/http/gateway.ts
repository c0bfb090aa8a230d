import { gatewayError, jsonResponse, type HttpResponse } from './response.ts';
import type { Faults } from '../faults.ts';
import type { Random } from '../random.ts';
import { createRateLimiter, type RateLimit, type RateLimiter } from './rate-limiter.ts';
import type { RequestLog } from './simulator-stats.ts';

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
