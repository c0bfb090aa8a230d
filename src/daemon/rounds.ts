import type { CrawlContext } from '../crawl/crawl-context.ts';
import { waitFor, type DaemonContext } from './daemon-context.ts';

interface Rounds {
  /** What the rounds are of, for the log. */
  readonly what: string;
  readonly periodMs: number;
}

/** Does work again and again, with a pause between, until the daemon is stopped. */
export async function runRounds(
  daemon: DaemonContext,
  { what, periodMs }: Rounds,
  work: (context: CrawlContext, isBack: () => void) => Promise<unknown>,
): Promise<void> {
  const { context, stop } = daemon;
  while (!stop.finishing.aborted) {
    await waitFor(daemon, what, work);
    await context.clock.sleep(periodMs, stop.finishing).catch(() => undefined);
  }
}
