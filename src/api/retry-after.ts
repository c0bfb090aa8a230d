import { HOUR } from '../range.ts';

/** A server that asks for more than this is not waited for in silence: the next attempt finds out. */
const MAX_MS = 1000 * HOUR;
const DECIMAL = /^\d+(\.\d+)?$/;

/**
 * Milliseconds to wait by a `Retry-After` header (RFC 9110, 10.2.3: seconds or a date), at most an hour; undefined where
 * there is none or it says neither. A date is by the sender's clock, which its `Date` header tells; `now` is our wall
 * time in milliseconds, where it sends none.
 */
export function retryAfterMs(
  header: string | undefined,
  date: string | undefined,
  now: number,
): number | undefined {
  const text = header?.trim() ?? '';
  const isDate = /^[A-Za-z]{3,9},? /.test(text);
  const sentAt = Date.parse(date ?? '');
  const ms = isDate
    ? Date.parse(text) - (Number.isNaN(sentAt) ? now : sentAt)
    : DECIMAL.test(text)
      ? Number(text) * 1000
      : NaN;
  return Number.isNaN(ms) ? undefined : Math.min(MAX_MS, Math.max(0, ms));
}
