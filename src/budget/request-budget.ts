import type { Priority } from './priority.ts';

/**
 * The right to send requests. The API counts them over all keys and processes of a network, so whoever sends asks
 * here first, and tells what became of it: the budget learns from that how fast it may go.
 */
export interface Budget {
  /**
   * Resolves when one request may go out: the caller sends it at once, with nothing slow in between.
   * The more urgent goes first. Rejects with the signal's reason as soon as it is aborted.
   */
  take(priority: Priority, signal: AbortSignal): Promise<void>;
  /**
   * The server refused a request for its rate (429), or asked for a pause (`Retry-After`, in milliseconds from now):
   * nobody sends until that is over, and slower afterwards. `elapsedMs` is how long ago `take` resolved for it.
   */
  refused(retryAfterMs: number | undefined, elapsedMs?: number): void | Promise<void>;
  /**
   * The server let a request through, whatever else it answered. `elapsedMs` is how long ago `take` resolved for it:
   * by now the request has certainly been counted.
   */
  succeeded(elapsedMs: number): void | Promise<void>;
  /** Unix milliseconds at which a pause of more than a minute ends, if the server has asked for one. */
  pausedUntil?(): number | undefined;
}
