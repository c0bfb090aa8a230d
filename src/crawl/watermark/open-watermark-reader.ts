import { readFoundWatermark } from '../../ledger/stored-watermark.ts';
import type { CrawlContext } from '../crawl-context.ts';
import type { ChainInfo } from '../chain-info.ts';
import { createWatermarkReader, type WatermarkReader } from './watermark.ts';

/**
 * Opens a reader of the watermark that continues from the last process's polls.
 *
 * `ETL_WATERMARK_DELAY` (here `delaySeconds`) is how far one replica of a source may lag behind another. New rows are
 * held back for that long. The tail reads what every replica shows by then. All other readers stay this far below the
 * watermark. A dataset's own `delay` replaces it if its endpoint is served from a copy that lags by minutes.
 */
export async function openWatermarkReader(
  { api, database, clock }: Pick<CrawlContext, 'api' | 'database' | 'clock'>,
  info: ChainInfo,
  delaySeconds: number,
): Promise<WatermarkReader> {
  const found = await readFoundWatermark(database);
  // An earlier version of the program stored only the result: at most one delay above what all replicas had.
  const before = found && (found.polls ?? [{ newest: found.newest, utime: found.utime - delaySeconds }]);
  return createWatermarkReader({ api, info, clock, delaySeconds, before, joinedUntil: found?.headUtime });
}
