import { formatTime, HOUR, type Range } from '../../range.ts';
import { createOutagePolicy, retry } from '../../retry.ts';
import type { CrawlContext } from '../crawl-context.ts';
import type { ChainInfo } from '../watermark/chain-info.ts';
import { openWatermarkReader } from '../watermark/open-watermark-reader.ts';
import { watermarkNotKnown, type WatermarkReader } from '../watermark/watermark.ts';

/** Beyond this age of its end, the index has held a range for so long that no block of it can still appear. */
const SETTLED_AGE_SECONDS = 6 * HOUR;

/** How far a range can be read now. */
export interface Reach {
  /** What of the range lies between the first block of the index and the watermark; undefined where nothing does. */
  readonly range: Range | undefined;
  readonly watermark: number;
}

interface ReachOptions {
  readonly context: CrawlContext;
  readonly chain: ChainInfo;
  readonly wanted: Range;
  /** How far a replica may lag behind the others. */
  readonly delaySeconds: number;
  /** True: nothing will be read, so what is visible counts, and nothing is waited for. */
  readonly isEstimate?: boolean;
  readonly signal: AbortSignal;
}

/** Cuts a range to what the index holds and to what is safe to read; a range that ended long ago does not wait. */
export async function reachOf(options: ReachOptions): Promise<Reach> {
  const { chain, wanted, delaySeconds } = options;
  const from = Math.max(wanted.from, chain.first.utime);
  const settled = wanted.to <= chain.last.utime - SETTLED_AGE_SECONDS;
  const watermark = settled ? chain.last.utime : await readWatermark(options);
  const to = settled ? wanted.to : Math.min(wanted.to, watermark - delaySeconds);
  return { range: from < to ? { from, to } : undefined, watermark };
}

/**
 * Tried again for a while: just then a block may be on its way, or the server asked may lag behind the others. Where
 * nobody had polled for long, what is new is held back: it is looked at again when it has been visible for the delay.
 */
async function readWatermark({
  context,
  chain,
  wanted,
  delaySeconds,
  isEstimate = false,
  signal,
}: ReachOptions): Promise<number> {
  const { clock, logger } = context;
  let reader: WatermarkReader | undefined;
  const read = () =>
    retry({ ...context, ...createOutagePolicy(clock), signal }, async () => {
      reader ??= await openWatermarkReader(context, chain, delaySeconds);
      const watermark = await reader.read(signal);
      if (watermark.utime === 0) throw watermarkNotKnown(watermark);
      return watermark;
    });
  const { utime, visible } = await read();
  if (isEstimate) return visible;
  const end = wanted.to + delaySeconds;
  // Of who asks for more than there is yet, a little less than there is suffices.
  const enough = end <= visible ? end : visible - delaySeconds;
  if (utime >= enough || wanted.from >= visible) return utime;
  logger.info(
    { seconds: delaySeconds, watermark: formatTime(utime) },
    'waiting until all servers have what is new',
  );
  await clock.sleep(1000 * delaySeconds, signal);
  return (await read()).utime;
}
