import { unixSeconds, createOutagePolicy, retry } from '../../clock.ts';
import { formatTime, HOUR, type Range } from '../../range.ts';
import { logAndKeepGap } from '../gaps.ts';
import type { CrawlContext } from '../crawl-context.ts';
import { readChainInfo, type ChainInfo } from '../source-chain.ts';
import {
  openWatermarkReader,
  watermarkNotKnown,
  type PolledWatermark,
  type WatermarkReader,
} from '../watermark/watermark.ts';

/** If a range ended longer ago than this, no block of it can still appear in the index. */
const FINAL_AGE_SECONDS = 6 * HOUR;
/** Seconds by which late shards and blocks hold the watermark back in normal operation. */
const LATE_SECONDS = 90;
const SECOND_LOOK_MS = 2000;

/** How much of a range can be read now. */
export interface ReadablePart {
  /** The part of the range between the first block of the index and the watermark; undefined if there is none. */
  readonly range: Range | undefined;
  readonly watermark: number;
}

/** How much of the requested range can be read. */
export interface ReadableResult extends ReadablePart {
  /** Set if a missing block holds back the end of the range: which block, and since when. */
  readonly heldByGap?: string;
  /** Set if no process had polled for a while: new rows are held back until they have been visible for the delay. */
  readonly held?: HeldBack;
}

/** The end of a range that some replicas may not have yet. */
export interface HeldBack {
  /** The part of the range that may be read meanwhile; undefined if there is none. */
  readonly before: Range | undefined;
  /** Waits until the whole range may be read. Resolves to the watermark of that time. */
  readonly waitUntilSafe: () => Promise<number>;
}

interface ReadableOptions {
  readonly context: CrawlContext;
  readonly chain: ChainInfo;
  readonly wanted: Range;
  /** How far one replica may lag behind another. */
  readonly delaySeconds: number;
  /** If true, nothing will be read, so visible rows count and nothing waits. */
  readonly isEstimate?: boolean;
  readonly signal: AbortSignal;
}

/**
 * Cuts a range to what the index holds and what is safe to read. A range that ended long ago is not checked.
 * If nothing of the range can be read, a second look must confirm it: the first one rests on a few answers.
 */
export async function findReadablePart(options: ReadableOptions): Promise<ReadableResult> {
  const reached = await lookForReadablePart(options);
  const { context, wanted, chain, signal } = options;
  if (reached.range !== undefined || isBeyond(wanted, chain)) return reached;
  await context.clock.sleep(SECOND_LOOK_MS, signal);
  return lookForReadablePart({ ...options, chain: await readChainInfo(context.api, signal) });
}

/** True if the index certainly does not hold the range. */
function isBeyond({ from, to }: Range, { first, last }: ChainInfo): boolean {
  return to <= first.utime || from >= last.utime;
}

async function lookForReadablePart(options: ReadableOptions): Promise<ReadableResult> {
  const { chain, wanted, delaySeconds, isEstimate = false, context } = options;
  const from = Math.max(wanted.from, chain.first.utime);
  const until = (to: number) => (from < to ? { from, to } : undefined);
  // The head comes from one answer, so it is cut at the present.
  const head = Math.min(chain.last.utime, unixSeconds(context.clock));
  if (wanted.to <= head - FINAL_AGE_SECONDS) return { range: until(wanted.to), watermark: chain.last.utime };
  const read = createWatermarkReading(options);
  const watermark = await read();
  const { utime, visible } = watermark;
  const lookedAtMs = context.clock.monotonic();
  const gap = heldByGap(watermark, delaySeconds, wanted);
  const isAhead = wanted.to + delaySeconds > visible;
  const to = Math.min(wanted.to, visible - delaySeconds);
  if (isEstimate) return { range: until(to), watermark: visible, ...gap };
  const safe = Math.min(wanted.to, utime - delaySeconds);
  // If the range ends in the future, reading almost to the head is enough.
  const isEnough = safe >= (isAhead ? to - delaySeconds : to) || wanted.from >= visible;
  if (isEnough) return { range: until(safe), watermark: utime, ...gap };
  const held = { before: until(safe), waitUntilSafe: () => waitForReplicas(options, read, lookedAtMs) };
  return { range: until(to), watermark: utime, held, ...gap };
}

/**
 * Set if a block that has been missing for longer than replicas lag holds the watermark, although there are
 * many blocks above it.
 */
function heldByGap(
  { visible, shown, head, waitingFor }: PolledWatermark,
  delaySeconds: number,
  wanted: Range,
): Pick<ReadableResult, 'heldByGap'> {
  const isHeld = shown > visible + delaySeconds + LATE_SECONDS && wanted.to > visible - delaySeconds;
  if (!isHeld) return {};
  return {
    heldByGap: `${waitingFor ?? `masterchain block ${head.seqno + 1}`} is missing, though the source shows blocks of ${formatTime(shown)}`,
  };
}

/** Retries for a while: a block may be on its way, or the server may lag behind the others. */
function createWatermarkReading({ context, chain, delaySeconds, signal }: ReadableOptions) {
  let reader: WatermarkReader | undefined;
  return () =>
    retry({ ...context, ...createOutagePolicy(context), signal }, async () => {
      reader ??= await openWatermarkReader(context, chain, delaySeconds);
      const watermark = await reader.read(signal);
      for (const gap of watermark.gaps) await logAndKeepGap(context, gap);
      if (watermark.utime === 0) throw watermarkNotKnown(watermark);
      return watermark;
    });
}

/** After the delay, all replicas have what was visible when the delay began. */
async function waitForReplicas(
  { context: { clock, logger }, delaySeconds, signal }: ReadableOptions,
  read: ReturnType<typeof createWatermarkReading>,
  lookedAtMs: number,
): Promise<number> {
  const leftMs = lookedAtMs + 1000 * delaySeconds - clock.monotonic();
  if (leftMs > 0) {
    logger.info({ seconds: Math.ceil(leftMs / 1000) }, 'waiting for all replicas to catch up');
    await clock.sleep(leftMs, signal);
  }
  return (await read()).utime;
}
