import { readFoundWatermark } from '../../db/coverage/watermark.ts';
import type { CrawlContext } from '../crawl-context.ts';
import type { ChainInfo } from './chain-info.ts';
import { createWatermarkReader, type WatermarkReader } from './watermark.ts';

/**
 * Opens a reader of the watermark that goes on from what the last process saw.
 *
 * Two delays remain between the watermark and what is read. `ETL_WATERMARK_DELAY` (here `delaySeconds`) is how far one
 * replica of a source may lag behind another: everybody reads that far below the watermark, and a watermark that jumped
 * is held back by it. A dataset's `delay` takes its place where the endpoint is served from a copy that lags by minutes.
 */
export async function openWatermarkReader(
  { api, database }: Pick<CrawlContext, 'api' | 'database'>,
  info: ChainInfo,
  delaySeconds: number,
): Promise<WatermarkReader> {
  const before = await readFoundWatermark(database);
  return createWatermarkReader({ api, info, delaySeconds, before });
}
