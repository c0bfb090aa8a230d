import { readChainInfo, type ChainInfo } from '../crawl/chain-info.ts';
import { lookAgain, sayAndKeep } from '../crawl/gaps.ts';
import type { CrawlContext } from '../crawl/crawl-context.ts';
import { openWatermarkReader } from '../crawl/watermark/open-watermark-reader.ts';
import type { PolledWatermark, Watermark, WatermarkReader } from '../crawl/watermark/watermark.ts';
import { SourceWentBackError } from '../errors.ts';
import { requireHead, toleranceOf } from '../crawl/watermark/went-back.ts';
import { readFoundWatermark, saveWatermark } from '../ledger/stored-watermark.ts';
import { requireOwnSchema } from '../postgres/own-schema.ts';
import { takeDuty } from '../ledger/holds.ts';
import { formatTime } from '../range.ts';
import { STILL_HEAD_SECONDS } from '../status/lag.ts';

interface LeaderOptions {
  readonly context: CrawlContext;
  readonly chain: ChainInfo;
  /** Name of this process. */
  readonly owner: string;
  /** Seconds after which another process leads where this one no longer polls. */
  readonly absentSeconds: number;
  /** How far a replica may lag behind the others. */
  readonly delaySeconds: number;
}

/** Where a daemon learns how far it is safe to read. */
export interface WatermarkLeader {
  /** Asks the API, or what another process has found. */
  poll(signal: AbortSignal): Promise<Watermark>;
  /** What time has let pass since the last poll, without a request; undefined where another process is the one to say. */
  release(): Watermark | undefined;
}

/**
 * Polls how far it is safe to read. Of all daemons that share a database one asks the API, as long as it lives; the others
 * take what it found, so that ten of them spend no more on it than one.
 */
export function createWatermarkLeader({
  context,
  chain,
  owner,
  absentSeconds,
  delaySeconds,
}: LeaderOptions): WatermarkLeader {
  const { database, logger } = context;
  const warnOfStillHead = stillHeadWarning(context);
  const heads = createBackWatch(context, delaySeconds);
  let reader: WatermarkReader | undefined;
  const poll = async (signal: AbortSignal) => {
    // A process that does not write just now ends, too.
    await requireOwnSchema(database);
    // Before the duty: whoever is led astray leaves it to another process.
    await context.network.confirm();
    const leads = await takeDuty(database, 'watermark', owner, absentSeconds);
    const found = leads ? undefined : await readFound(context, delaySeconds);
    if (found !== undefined) {
      // A process that leads again continues from what the other one saw.
      reader = undefined;
      return found;
    }
    reader ??= await openWatermarkReader(context, chain, delaySeconds);
    const watermark = await reader.read(signal);
    const { utime, head, newest, everywhere, waitingFor, polls, gaps } = watermark;
    for (const gap of gaps) await sayAndKeep(context, gap);
    const ceiling = await heads.check(watermark, signal);
    await lookAgain(context, { from: 0, to: utime }, { dueOnly: true, signal });
    await saveWatermark(database, {
      utime,
      headSeqno: head.seqno,
      headUtime: head.utime,
      newest,
      everywhere: { utime: everywhere, delaySeconds },
      polls,
      ...(ceiling < Infinity && { ceiling }),
      waitingFor: waitingFor ?? null,
    });
    warnOfStillHead(watermark);
    logger.debug({ watermark: formatTime(utime), head: head.seqno, waitingFor }, 'watermark');
    return below(watermark, ceiling);
  };
  return { poll, release: () => reader && below(reader.release(), heads.ceiling()) };
}

/** Nothing is read above what a source shows that has gone back. */
function below(watermark: Watermark, ceiling: number): Watermark {
  const { utime, everywhere } = watermark;
  return { ...watermark, utime: Math.min(utime, ceiling), everywhere: Math.min(everywhere, ceiling) };
}

interface BackWatch {
  /** The second above which nothing can be read; Infinity as long as the source has not gone back. */
  ceiling(): number;
  check(watermark: PolledWatermark, signal: AbortSignal): Promise<number>;
}

/**
 * Notices a source whose head has fallen by more than replicas lag, for longer than they do. What was read above it
 * meanwhile is not covered any more, and nothing is read there before the source has caught up.
 */
function createBackWatch(context: CrawlContext, delaySeconds: number): BackWatch {
  const { clock, logger } = context;
  let highest = 0;
  let lastHighMs = clock.monotonic();
  let ceiling = Infinity;
  const lookAtFall = async (now: number, signal: AbortSignal) => {
    if (now - lastHighMs <= 1000 * delaySeconds) {
      // A replica may lag. Or it is another chain that answers: the client notices by its first block.
      await readChainInfo(context.api, signal);
      return Infinity;
    }
    try {
      await requireHead(context, { seen: highest, delaySeconds, sinceMs: lastHighMs, signal });
      return Infinity;
    } catch (error) {
      if (!(error instanceof SourceWentBackError)) throw error;
      logger.error({ code: error.code, reason: error.message, hint: error.hint }, 'the source went back');
      return error.ceiling;
    }
  };
  return {
    ceiling: () => ceiling,
    async check({ shown }, signal) {
      const now = clock.monotonic();
      highest = Math.max(highest, shown);
      if (shown >= highest - toleranceOf(delaySeconds)) [lastHighMs, ceiling] = [now, Infinity];
      else if (ceiling === Infinity) ceiling = await lookAtFall(now, signal);
      return ceiling;
    },
  };
}

/** Reads what another process found; undefined before it has found any. */
async function readFound({ database }: CrawlContext, delaySeconds: number): Promise<Watermark | undefined> {
  const found = await readFoundWatermark(database);
  if (found === undefined) return undefined;
  const { utime, headSeqno, headUtime, newest, everywhere, ceiling = Infinity, waitingFor } = found;
  // A process with a shorter delay, or of an earlier version, has not waited as long.
  const isHeldBack = everywhere !== undefined && everywhere.delaySeconds >= delaySeconds;
  const watermark = {
    utime,
    head: { seqno: headSeqno, utime: headUtime },
    newest,
    everywhere: Math.max(utime - delaySeconds, isHeldBack ? everywhere.utime : 0),
    waitingFor: waitingFor ?? undefined,
  };
  return below(watermark, ceiling);
}

/** A head that does not move is logged after two minutes, then each time that it has lasted twice as long. */
function stillHeadWarning({ clock, logger }: CrawlContext): (watermark: Watermark) => void {
  let last = { seqno: -1, since: 0, next: STILL_HEAD_SECONDS };
  return ({ head, utime, waitingFor }) => {
    const now = clock.monotonic() / 1000;
    if (head.seqno !== last.seqno) last = { seqno: head.seqno, since: now, next: STILL_HEAD_SECONDS };
    if (now - last.since < last.next) return;
    last.next *= 2;
    logger.warn(
      { head: head.seqno, watermark: formatTime(utime), seconds: Math.round(now - last.since), waitingFor },
      'the head does not move: look at the status of the source; where waitingFor names a block for an hour, the source has a gap',
    );
  };
}
