import { every } from '../clock.ts';
import type { CrawlContext } from './crawl-context.ts';

interface Held {
  /** What is held, for the log. */
  readonly what: string;
  /** Seconds after which it expires if it is not renewed. */
  readonly heldSeconds: number;
  readonly renew: () => Promise<unknown>;
}

/**
 * Renews a lease, a claim or a duty until the returned function is called, so that long work does not lose
 * it. A frozen process renews nothing, so what it holds expires.
 */
export function keepAlive(
  { clock, logger }: Pick<CrawlContext, 'clock' | 'logger'>,
  { what, heldSeconds, renew }: Held,
): () => void {
  const ended = new AbortController();
  const rhythm = { pauseMs: (heldSeconds * 1000) / 3, signal: ended.signal, isLater: true };
  // If the database is down, the work itself reports it.
  const tryToRenew = () =>
    renew().catch((error: unknown) => {
      logger.debug({ what, reason: String(error) }, 'could not renew lease');
    });
  void every(clock, rhythm, tryToRenew);
  return () => ended.abort();
}
