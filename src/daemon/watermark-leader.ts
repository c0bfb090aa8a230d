import { readChainInfo, type ChainInfo } from '../crawl/source-chain.ts';
import { recheckGaps, logAndKeepGap } from '../crawl/gaps.ts';
import type { CrawlContext } from '../crawl/crawl-context.ts';
import {
  openWatermarkReader,
  type PolledWatermark,
  type Watermark,
  type WatermarkReader,
  requireHead,
  toleranceOf,
} from '../crawl/watermark/watermark.ts';
import { SourceWentBackError } from '../errors.ts';
import { readFoundWatermark, saveWatermark } from '../ledger/stored-settings.ts';
import { requireOwnSchema } from '../postgres/database.ts';
import { takeDuty } from '../ledger/leases.ts';
import { formatTime } from '../range.ts';
import { STILL_HEAD_SECONDS } from '../status/report.ts';

interface LeaderOptions {
  readonly context: CrawlContext;
  readonly chain: ChainInfo;
  /** Name of this process. */
  readonly owner: string;
  /** Seconds without a poll after which another process leads. */
  readonly absentSeconds: number;
  /** How far one replica may lag behind another. */
  readonly delaySeconds: number;
}

export type WatermarkLeader = ReturnType<typeof createWatermarkLeader>;

/**
 * Polls the watermark. Of all daemons that share a database, one polls the API while it lives. The others
 * read its result, so that ten daemons spend no more on it than one.
 */
export function createWatermarkLeader({ context, chain, owner, absentSeconds, delaySeconds }: LeaderOptions) {
  const { database, logger } = context;
  const warnOfStillHead = stillHeadWarning(context);
  const heads = createBackWatch(context, delaySeconds);
  let reader: WatermarkReader | undefined;
  /** Polls the API, or reads what another process has found. */
  const poll = async (signal: AbortSignal): Promise<Watermark> => {
    // A process that is not writing also has to end if the schema is newer.
    await requireOwnSchema(database);
    // Check first: a process on the wrong network must not become leader.
    await context.network.confirm();
    const leads = await takeDuty(database, 'watermark', owner, absentSeconds);
    const found = leads ? undefined : await readFound(context, delaySeconds);
    if (found !== undefined) {
      // If this process leads again later, it continues from the other process's polls.
      reader = undefined;
      return found;
    }
    reader ??= await openWatermarkReader(context, chain, delaySeconds);
    const watermark = await reader.read(signal);
    const { utime, head, newest, everywhere, waitingFor, polls, gaps } = watermark;
    for (const gap of gaps) await logAndKeepGap(context, gap);
    const ceiling = await heads.check(watermark, signal);
    await recheckGaps(context, { from: 0, to: utime }, { dueOnly: true, signal });
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
  /** The watermark after more time has passed, without a request; undefined if another process leads. */
  const release = () => reader && below(reader.release(), heads.ceiling());
  return { poll, release };
}

/** The watermark, at most the ceiling of a source that has gone back. */
function below(watermark: Watermark, ceiling: number): Watermark {
  const { utime, everywhere } = watermark;
  return { ...watermark, utime: Math.min(utime, ceiling), everywhere: Math.min(everywhere, ceiling) };
}

/**
 * Detects a source whose head has fallen further and for longer than replicas lag. Everything that was read
 * above it meanwhile is not covered any more, and nothing is read there before the source has caught up.
 */
function createBackWatch(context: CrawlContext, delaySeconds: number) {
  const { clock, logger } = context;
  let highest = 0;
  let lastHighMs = clock.monotonic();
  let ceiling = Infinity;
  const lookAtFall = async (now: number, signal: AbortSignal) => {
    if (now - lastHighMs <= 1000 * delaySeconds) {
      // A replica may lag. Or another chain answers, which the client detects by its first block.
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
    /** The second above which nothing can be read; Infinity unless the source has gone back. */
    ceiling: () => ceiling,
    async check({ shown }: PolledWatermark, signal: AbortSignal): Promise<number> {
      const now = clock.monotonic();
      highest = Math.max(highest, shown);
      if (shown >= highest - toleranceOf(delaySeconds)) [lastHighMs, ceiling] = [now, Infinity];
      else if (ceiling === Infinity) ceiling = await lookAtFall(now, signal);
      return ceiling;
    },
  };
}

/** The result of another process; undefined if there is none yet. */
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

/** Logs a head that does not move after two minutes, then each time that it has lasted twice as long. */
function stillHeadWarning({ clock, logger }: CrawlContext): (watermark: Watermark) => void {
  let last = { seqno: -1, since: 0, next: STILL_HEAD_SECONDS };
  return ({ head, utime, waitingFor }) => {
    const now = clock.monotonic() / 1000;
    if (head.seqno !== last.seqno) last = { seqno: head.seqno, since: now, next: STILL_HEAD_SECONDS };
    if (now - last.since < last.next) return;
    last.next *= 2;
    logger.warn(
      { head: head.seqno, watermark: formatTime(utime), seconds: Math.round(now - last.since), waitingFor },
      'the head does not move: look at the status of the source; if waitingFor names a block for an hour, the source has a gap',
    );
  };
}
