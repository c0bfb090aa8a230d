import { formatTime } from '../../range.ts';

/** ISO 8601 of unix seconds that may not have been sent. */
export function momentOf(seconds: number | null | undefined): string | null {
  return seconds == null ? null : formatTime(seconds);
}
