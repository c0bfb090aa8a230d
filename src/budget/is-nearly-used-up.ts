/** Whoever uses more of a plan than this waits for it. */
const NEARLY_ALL = 0.8;

/** True where so many requests, sent in so many milliseconds, leave next to nothing of a plan's requests a second. */
export function isNearlyUsedUp(requests: number, ms: number, rps: number): boolean {
  return requests * 1000 > NEARLY_ALL * rps * ms;
}
