/** How full the next page should be: one that comes out full was asked for in vain, or looked for in vain beyond its end. */
const AIM = 0.75;
/** The most that a request grows at once: a quiet stretch does not promise that the next one is quiet. */
const GROWTH = 8;

interface SeenDensity {
  /** Seconds that the last request was long. */
  readonly length: number;
  /** Seconds that its page completed, and how many rows lie in them. */
  readonly seconds: number;
  readonly rows: number;
  /** Rows that the next page may hold. */
  readonly size: number;
}

/** How many seconds the next request should be long. */
export function nextLength({ length, seconds, rows, size }: SeenDensity): number {
  return Math.min(GROWTH * length, (AIM * size * seconds) / Math.max(1, rows));
}
