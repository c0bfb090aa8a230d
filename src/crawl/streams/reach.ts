import { unixSeconds } from '../../clock.ts';
import { formatTime, HOUR, type Range } from '../../range.ts';
import { createOutagePolicy, retry } from '../../retry.ts';
import { sayAndKeep } from '../gaps.ts';
import type { CrawlContext } from '../crawl-context.ts';
import { readChainInfo, type ChainInfo } from '../chain-info.ts';
import { openWatermarkReader } from '../watermark/open-watermark-reader.ts';
import { watermarkNotKnown, type PolledWatermark, type WatermarkReader } from '../watermark/watermark.ts';

/** Beyond this age of its end, the index has held a range for so long that no block of it can still appear. */
const SETTLED_AGE_SECONDS = 6 * HOUR;
/** Seconds by which shards and blocks that come late hold the watermark at rest. */
const LATE_SECONDS = 90;
const SECOND_LOOK_MS = 2000;

/** How far a range can be read now. */
export interface Reach {
  /** What of the range lies between the first block of the index and the watermark; undefined where nothing does. */
  readonly range: Range | undefined;
  readonly watermark: number;
}

/** How far it can be read, of what was asked for. */
export interface Reached extends Reach {
  /** Set if a block that is missing holds the end of the range: which one, and until when it does. */
  readonly heldByGap?: string;
  /** Where nobody had polled for long: what is new is held back until it has been visible for the delay. */
  readonly held?: HeldBack;
}

/** The end of a range that not all servers may have yet. */
export interface HeldBack {
  /** What of the range may be read meanwhile; undefined where nothing may. */
  readonly before: Range | undefined;
  /** Waits until all of the range may be read; resolves to the watermark then. */
  readonly settle: () => Promise<number>;
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

/**
 * Cuts a range to what the index holds and to what is safe to read; a range that ended long ago is not looked at. That
 * nothing of a range can be read is believed when a second look says so: the first one rests on a few answers.
 */
export async function reachOf(options: ReachOptions): Promise<Reached> {
  const reached = await lookAtReach(options);
  const { context, wanted, chain, signal } = options;
  if (reached.range !== undefined || isBeyond(wanted, chain)) return reached;
  await context.clock.sleep(SECOND_LOOK_MS, signal);
  return lookAtReach({ ...options, chain: await readChainInfo(context.api, signal) });
}

/** True of a range that the index plainly does not hold. */
function isBeyond({ from, to }: Range, { first, last }: ChainInfo): boolean {
  return to <= first.utime || from >= last.utime;
}

async function lookAtReach(options: ReachOptions): Promise<Reached> {
  const { chain, wanted, delaySeconds, isEstimate = false, context } = options;
  const from = Math.max(wanted.from, chain.first.utime);
  const until = (to: number) => (from < to ? { from, to } : undefined);
  // The head is what one answer says: it is not believed to lie in the future.
  const head = Math.min(chain.last.utime, unixSeconds(context.clock));
  if (wanted.to <= head - SETTLED_AGE_SECONDS)
    return { range: until(wanted.to), watermark: chain.last.utime };
  const read = createWatermarkReading(options);
  const watermark = await read();
  const { utime, visible } = watermark;
  const lookedAtMs = context.clock.monotonic();
  const gap = heldByGap(watermark, delaySeconds, wanted);
  const isAhead = wanted.to + delaySeconds > visible;
  const to = Math.min(wanted.to, visible - delaySeconds);
  if (isEstimate) return { range: until(to), watermark: visible, ...gap };
  const safe = Math.min(wanted.to, utime - delaySeconds);
  // Where more is asked for than there is yet, a little less than there is suffices.
  const isEnough = safe >= (isAhead ? to - delaySeconds : to) || wanted.from >= visible;
  if (isEnough) return { range: until(safe), watermark: utime, ...gap };
  const held = { before: until(safe), settle: () => settle(options, read, lookedAtMs) };
  return { range: until(to), watermark: utime, held, ...gap };
}

/** A block that has been missing for longer than replicas lag holds the watermark, though much lies above it. */
function heldByGap(
  { visible, shown, head, waitingFor }: PolledWatermark,
  delaySeconds: number,
  wanted: Range,
): Pick<Reached, 'heldByGap'> {
  const isHeld = shown > visible + delaySeconds + LATE_SECONDS && wanted.to > visible - delaySeconds;
  if (!isHeld) return {};
  return {
    heldByGap: `${waitingFor ?? `masterchain block ${head.seqno + 1}`} is missing, though the source shows blocks of ${formatTime(shown)}`,
  };
}

/** Tried again for a while: just then a block may be on its way, or the server asked may lag behind the others. */
function createWatermarkReading({ context, chain, delaySeconds, signal }: ReachOptions) {
  let reader: WatermarkReader | undefined;
  return () =>
    retry({ ...context, ...createOutagePolicy(context), signal }, async () => {
      reader ??= await openWatermarkReader(context, chain, delaySeconds);
      const watermark = await reader.read(signal);
      for (const gap of watermark.gaps) await sayAndKeep(context, gap);
      if (watermark.utime === 0) throw watermarkNotKnown(watermark);
      return watermark;
    });
}

/** After the delay all servers have what was visible when it began. */
async function settle(
  { context: { clock, logger }, delaySeconds, signal }: ReachOptions,
  read: ReturnType<typeof createWatermarkReading>,
  lookedAtMs: number,
): Promise<number> {
  const leftMs = lookedAtMs + 1000 * delaySeconds - clock.monotonic();
  if (leftMs > 0) {
    logger.info({ seconds: Math.ceil(leftMs / 1000) }, 'waiting until all servers have what is new');
    await clock.sleep(leftMs, signal);
  }
  return (await read()).utime;
}
