import type { ChainInfo } from '../crawl/chain-info.ts';
import type { CrawlContext } from '../crawl/crawler.ts';
import { createWatermarkReader, type Watermark } from '../crawl/watermark.ts';
import { readSavedWatermark, saveWatermark, takeLookout } from '../db/watermark.ts';
import { formatTime } from '../range.ts';

interface LookoutOptions {
  readonly context: CrawlContext;
  readonly chain: ChainInfo;
  /** Name of this process. */
  readonly owner: string;
  /** Seconds after which another process looks out where this one no longer does. */
  readonly patience: number;
}

/**
 * How far it is safe to read. Of all daemons that share a database one asks the API, as long as it lives; the others
 * take what it found, so that ten of them spend no more on it than one.
 */
export function createLookout({
  context,
  chain,
  owner,
  patience,
}: LookoutOptions): (signal: AbortSignal) => Promise<Watermark> {
  const { api, database, logger } = context;
  const reader = createWatermarkReader(api, chain);
  return async (signal) => {
    const found = (await takeLookout(database, owner, patience)) ? undefined : await readFound(context);
    if (found !== undefined) return found;
    const watermark = await reader.read(signal);
    const { utime, head, waitingFor } = watermark;
    await saveWatermark(database, {
      ...{ utime, headSeqno: head.seqno, headUtime: head.utime, waitingFor: waitingFor ?? null },
    });
    logger.debug({ watermark: formatTime(utime), head: head.seqno, waitingFor }, 'watermark');
    return watermark;
  };
}

/** What another process found; undefined before it has found any. */
async function readFound({ database }: CrawlContext): Promise<Watermark | undefined> {
  const saved = await readSavedWatermark(database);
  if (saved === undefined || saved.utime === 0) return undefined;
  const { utime, headSeqno, headUtime, waitingFor } = saved;
  return { utime, head: { seqno: headSeqno, utime: headUtime }, waitingFor: waitingFor ?? undefined };
}
