import type { Logger } from '../logger.ts';

interface KeepAliveOptions {
  /** What is held, for the log. */
  readonly dataset: string;
  /** Seconds after which it expires unless it is prolonged. */
  readonly heldSeconds: number;
  readonly prolong: () => Promise<unknown>;
  readonly logger: Logger;
}

/**
 * Prolongs a lease or a claim until the returned function is called: a page that takes long must not cost it. What a
 * frozen process holds does expire.
 */
export function keepAlive({ dataset, heldSeconds, prolong, logger }: KeepAliveOptions): () => void {
  const beat = () => {
    prolong().catch((error: unknown) => {
      logger.debug({ dataset, reason: String(error) }, 'lease or claim not prolonged');
    });
  };
  const timer = setInterval(beat, (heldSeconds * 1000) / 3);
  return () => {
    clearInterval(timer);
  };
}
