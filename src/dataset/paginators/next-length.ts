/**
 * How full the next page should be. If a page is full, the part of its window beyond the last row was
 * requested or scanned in vain.
 */
const AIM = 0.75;
/** The most that a request grows at once: a quiet period does not mean that the next one is quiet. */
const GROWTH = 8;

interface SeenDensity {
  /** Seconds of the last request. */
  readonly length: number;
  /** Seconds that its page completed, and the number of their rows. */
  readonly seconds: number;
  readonly rows: number;
  /** The most rows of the next page. */
  readonly size: number;
}

/** The length of the next request in seconds. */
export function nextLength({ length, seconds, rows, size }: SeenDensity): number {
  return Math.min(GROWTH * length, (AIM * size * seconds) / Math.max(1, rows));
}
