import { UsageError } from '../../errors.ts';

/** How the gateway counts; always per arrival, and refused requests do not count. */
export interface RateLimit {
  readonly kind: 'fixed-window' | 'sliding-window' | 'token-bucket';
  /** Requests a second. */
  readonly rps: number;
  /** How much earlier than due a request may arrive, ms; default 0. */
  readonly graceMs?: number;
  /** Greatest number of saved-up requests of a token bucket; default `rps`. */
  readonly burst?: number;
  /** True: a 429 says in Retry-After how many seconds to wait. */
  readonly retryAfter?: boolean;
}

/** Admits or refuses arrivals. */
export interface RateLimiter {
  /** 0 admits the request; else the request is refused, and may be repeated after this many ms. */
  admit(nowMs: number): number;
}

/** Makes a limiter. `factor` scales the rate that it really grants (1: what it says). */
export function createRateLimiter(limit: RateLimit, factor: () => number = () => 1): RateLimiter {
  switch (limit.kind) {
    case 'fixed-window':
      return fixedWindow(limit, factor);
    case 'sliding-window':
      return slidingWindow(limit, factor);
    case 'token-bucket':
      return tokenBucket(limit, factor);
  }
}

/** Counts in each whole second; within the grace an arrival may still be counted in the second before. */
function fixedWindow({ rps, graceMs = 0 }: RateLimit, factor: () => number): RateLimiter {
  let second = -1;
  let count = 0;
  let before = 0;
  return {
    admit(nowMs) {
      const current = Math.floor(nowMs / 1000);
      if (current !== second) {
        before = current === second + 1 ? count : 0;
        second = current;
        count = 0;
      }
      const most = rps * factor();
      if (nowMs - current * 1000 < graceMs && before < most) {
        before++;
        return 0;
      }
      if (count >= most) return (current + 1) * 1000 - nowMs;
      count++;
      return 0;
    },
  };
}

/** No second, wherever it begins, holds more than the rate. */
function slidingWindow({ rps, graceMs = 0 }: RateLimit, factor: () => number): RateLimiter {
  let admitted: number[] = [];
  return {
    admit(nowMs) {
      const span = 1000 - graceMs;
      admitted = admitted.filter((at) => nowMs - at < span);
      if (admitted.length >= rps * factor()) return Math.max(1, span - (nowMs - (admitted[0] ?? nowMs)));
      admitted.push(nowMs);
      return 0;
    },
  };
}

/** Tokens come in steadily and are saved up to the burst. */
function tokenBucket({ rps, graceMs = 0, burst = rps }: RateLimit, factor: () => number): RateLimiter {
  let tokens = burst;
  let last: number | undefined;
  return {
    admit(nowMs) {
      const rate = (rps * factor()) / 1000;
      tokens = Math.min(burst, tokens + (nowMs - (last ?? nowMs)) * rate);
      last = nowMs;
      const needed = 1 - graceMs * rate;
      if (tokens < needed) return Math.max(1, (needed - tokens) / rate);
      tokens -= 1;
      return 0;
    },
  };
}

export function readRateLimit(text: string): RateLimit {
  const [, kind, rps] = /^(fixed-window|sliding-window|token-bucket):(\d+(?:\.\d+)?)$/.exec(text) ?? [];
  const isKind = kind === 'fixed-window' || kind === 'sliding-window' || kind === 'token-bucket';
  if (isKind && Number(rps) > 0) return { kind, rps: Number(rps) };
  throw new UsageError(`--rate-limit "${text}" is not KIND:RPS`, {
    hint: 'Kinds are fixed-window, sliding-window and token-bucket: --rate-limit sliding-window:10.',
  });
}
