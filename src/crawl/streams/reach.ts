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

/** How far it can be read, of what was asked for. */
export interface Reached extends Reach {
  /** True: more was asked for than there was yet, or than is safe to read, so that as far as it can be read is all of it. */
  readonly isPresent: boolean;
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
export async function reachOf(options: ReachOptions): Promise<Reached> {
  const { chain, wanted, delaySeconds } = options;
  const from = Math.max(wanted.from, chain.first.utime);
  if (wanted.to <= chain.last.utime - SETTLED_AGE_SECONDS) {
    const range = from < wanted.to ? { from, to: wanted.to } : undefined;
    return { range, watermark: chain.last.utime, isPresent: false };
  }
  const { watermark, isAhead } = await readWatermark(options);
  const to = Math.min(wanted.to, watermark - delaySeconds);
  return { range: from < to ? { from, to } : undefined, watermark, isPresent: isAhead || to < wanted.to };
}

interface Looked {
  readonly watermark: number;
  /** Whether the end of the range was not visible everywhere yet at the first look. */
  readonly isAhead: boolean;
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
}: ReachOptions): Promise<Looked> {
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
  const end = wanted.to + delaySeconds;
  const isAhead = end > visible;
  if (isEstimate) return { watermark: visible, isAhead };
  // Of who asks for more than there is yet, a little less than there is suffices.
  const enough = isAhead ? visible - delaySeconds : end;
  if (utime >= enough || wanted.from >= visible) return { watermark: utime, isAhead };
  logger.info(
    { seconds: delaySeconds, watermark: formatTime(utime) },
    'waiting until all servers have what is new',
  );
  await clock.sleep(1000 * delaySeconds, signal);
  return { watermark: (await read()).utime, isAhead };
}
