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
  const beat = async () => {
    for (;;) {
      await clock.sleep((heldSeconds * 1000) / 3, ended.signal).catch(() => undefined);
      if (ended.signal.aborted) return;
      // Where the database is away, the work itself says so.
      await prolong().catch((error: unknown) => {
        logger.debug({ what, reason: String(error) }, 'not prolonged');
      });
    }
  };
  void beat();
  return () => ended.abort();
}
