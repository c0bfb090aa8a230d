import { withdrawReadSince } from '../../ledger/stored-coverage.ts';
import { SourceWentBackError } from '../../errors.ts';
import { formatTime, MINUTE } from '../../range.ts';
import type { CrawlContext } from '../crawl-context.ts';
import { readChainInfo } from '../chain-info.ts';

/** A replica may lag this many seconds behind another one, even if ETL_WATERMARK_DELAY is less. */
const LEAST_TOLERANCE = MINUTE;
const LOOKS = 5;
const PAUSE_MS = 2000;

/** Seconds by which the head may fall because of a lagging replica. */
export function toleranceOf(delaySeconds: number): number {
  return Math.max(delaySeconds, LEAST_TOLERANCE);
}

interface HeadOptions {
  /** The newest block that the source has shown, unix seconds. */
  readonly seen: number;
  readonly delaySeconds: number;
  /** When the source showed it, in milliseconds of the monotonic clock. */
  readonly sinceMs: number;
  readonly signal: AbortSignal;
}

/**
 * Checks that the source still shows what it has shown. If several looks find the head lower than replicas lag,
 * everything that was read above it since then is taken out of coverage. Rows may have been missing there.
 * @throws SourceWentBackError in that case
 */
export async function requireHead(
  { api, clock, database }: Pick<CrawlContext, 'api' | 'clock' | 'database'>,
  { seen, delaySeconds, sinceMs, signal }: HeadOptions,
): Promise<void> {
  const heads: number[] = [];
  for (let look = 1; look <= LOOKS; look += 1) {
    if (look > 1) await clock.sleep(PAUSE_MS, signal);
    const { last } = await readChainInfo(api, signal);
    if (last.utime >= seen - toleranceOf(delaySeconds)) return;
    heads.push(last.utime);
  }
  const from = Math.min(...heads) - delaySeconds;
  await withdrawReadSince(database, from, MINUTE + (clock.monotonic() - sinceMs) / 1000);
  throw new SourceWentBackError(
    `the source went back: its newest block is of ${formatTime(Math.max(...heads))}, and was of ${formatTime(seen)} before; what was read above ${formatTime(from)} meanwhile is not covered any more`,
    {
      ceiling: from,
      hint: 'It may have been restored from an older copy. When it has caught up, the same command reads the rest.',
    },
  );
}
