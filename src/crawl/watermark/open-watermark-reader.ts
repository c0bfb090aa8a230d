import { readFoundWatermark } from '../../ledger/stored-watermark.ts';
import type { CrawlContext } from '../crawl-context.ts';
import type { ChainInfo } from '../chain-info.ts';
import { createWatermarkReader, type WatermarkReader } from './watermark.ts';

/**
 * Opens a reader of the watermark that goes on from what the last process saw.
 *
 * `ETL_WATERMARK_DELAY` (here `delaySeconds`) is how far one replica of a source may lag behind another: what is new is
 * held back for as long. Those who follow the head read what every replica shows by then. All others read that far below
 * the watermark. A dataset's `delay` takes its place where the endpoint is served from a copy that lags by minutes.
 */
export async function openWatermarkReader(
  { api, database, clock }: Pick<CrawlContext, 'api' | 'database' | 'clock'>,
  info: ChainInfo,
  delaySeconds: number,
): Promise<WatermarkReader> {
  const found = await readFoundWatermark(database);
  // Of an earlier version of the program only the result is known: at most a delay above what all replicas had.
  const before = found && (found.polls ?? [{ newest: found.newest, utime: found.utime - delaySeconds }]);
  return createWatermarkReader({ api, info, clock, delaySeconds, before, joinedUntil: found?.headUtime });
}
