/** A server that asks for more than this is not waited for in silence: the next attempt finds out. */
const MAX_MS = 3_600_000;
const DECIMAL = /^\d+(\.\d+)?$/;

/**
 * Milliseconds to wait by a `Retry-After` header (RFC 9110, 10.2.3: seconds or a date), at most an hour;
 * undefined where there is none or it says neither. `now` is wall time in milliseconds.
 */
export function retryAfterMs(header: string | undefined, now: number): number | undefined {
  const text = header?.trim() ?? '';
  const isDate = /^[A-Za-z]{3,9},? /.test(text);
  const ms = isDate ? Date.parse(text) - now : DECIMAL.test(text) ? Number(text) * 1000 : NaN;
  return Number.isNaN(ms) ? undefined : Math.min(MAX_MS, Math.max(0, ms));
}
