import { every } from '../clock.ts';
import type { CrawlContext } from './crawl-context.ts';

interface Held {
  /** What is held, for the log. */
  readonly what: string;
  /** Seconds after which it expires unless it is prolonged. */
  readonly heldSeconds: number;
  readonly prolong: () => Promise<unknown>;
}

/**
 * Prolongs a lease, a claim or a duty until the returned function is called: work that takes long must not cost it. What
 * a frozen process holds does expire.
 */
export function keepAlive(
  { clock, logger }: Pick<CrawlContext, 'clock' | 'logger'>,
  { what, heldSeconds, prolong }: Held,
): () => void {
  const ended = new AbortController();
  const rhythm = { pauseMs: (heldSeconds * 1000) / 3, signal: ended.signal, isLater: true };
  // If the database is away, the work itself says so.
  const tryToProlong = () =>
    prolong().catch((error: unknown) => {
      logger.debug({ what, reason: String(error) }, 'not prolonged');
    });
  void every(clock, rhythm, tryToProlong);
  return () => ended.abort();
}
