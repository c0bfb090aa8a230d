/** How servers count requests: true where the request that arrives at `now` (milliseconds) is let through. */
export type Limiter = (now: number) => boolean;

/** At most `limit` in each whole second of the clock. */
export function fixedWindow(limit: number): Limiter {
  let second = -1;
  let count = 0;
  return (now) => {
    if (Math.floor(now / 1000) !== second) [second, count] = [Math.floor(now / 1000), 0];
    count += 1;
    return count <= limit;
  };
}

/** At most `limit` in any second; what was refused counts as well. */
export function slidingWindow(limit: number): Limiter {
  let log: number[] = [];
  return (now) => {
    log = [...log.filter((then) => then > now - 1000), now];
    return log.length <= limit;
  };
}

/** A bucket of `limit` tokens that `limit` tokens a second flow into. */
export function tokenBucket(limit: number): Limiter {
  let tokens = limit;
  let last = -Infinity;
  return (now) => {
    tokens = Math.min(limit, tokens + ((now - last) * limit) / 1000);
    last = now;
    if (tokens < 1) return false;
    tokens -= 1;
    return true;
  };
}

export const LIMITERS = { fixedWindow, slidingWindow, tokenBucket };
