import * as z from 'zod';
import { parseCanonical } from '../../dataset/declaration/record.ts';
import type { ApiClient } from '../../api/client.ts';
import type { Clock } from '../../clock.ts';
import {
  type EtlError,
  ApiUnavailableError,
  NoEndpointError,
  NotFoundError,
  RequestRefusedError,
  UnfitSourceError,
  SourceWentBackError,
} from '../../errors.ts';
import { type Gap, withdrawReadSince } from '../../ledger/stored-coverage.ts';
import { DAY, HOUR, formatTime, MINUTE } from '../../range.ts';
import { isOfMasterchain, MASTERCHAIN, tiles, blockKey } from '../../ton/shard.ts';
import type { PageSize } from '../request-bounds.ts';
import type { CrawlContext } from '../crawl-context.ts';
import { findGaps, gapsOf, missingMasterchain } from '../gaps.ts';
import {
  BlockId,
  brokenLinks,
  contiguousFrom,
  firstMissing,
  masterchainId,
  masterchainSeqnos,
  type BrokenLink,
  type LinkedBlock,
  Blocks,
  blocksPageSize,
  namedBlock,
  visibleBlocks,
  type Asking,
  type ChainInfo,
  readChainInfo,
} from '../source-chain.ts';
import { createFinalityDelay, LOOK_BACK, type PollResult, type SafeWatermark } from './finality-delay.ts';
import { readFoundWatermark } from '../../ledger/stored-settings.ts';

/** A replica may lag this many seconds behind another one, even if ETL_WATERMARK_DELAY is less. */
const LEAST_TOLERANCE = MINUTE;
const LOOKS = 5;
const PAUSE_MS = 2000;

/** Seconds by which the head may fall because of a lagging replica. */
export function toleranceOf(delaySeconds: number): number {
  return Math.max(delaySeconds, LEAST_TOLERANCE);
}

interface HeadCheck {
  /** The newest block that the source has shown, unix seconds. */
  readonly seen: number;
  readonly delaySeconds: number;
  /** When the source showed it, in milliseconds of the monotonic clock. */
  readonly sinceMs: number;
  readonly signal: AbortSignal;
}

/**
 * Checks that the source still shows what it has shown. If several looks find the head lower than replicas lag,
 * everything that was read above it since then is taken out of coverage. Rows may have been missing there.
 * @throws SourceWentBackError in that case
 */
export async function requireHead(
  { api, clock, database }: Pick<CrawlContext, 'api' | 'clock' | 'database'>,
  { seen, delaySeconds, sinceMs, signal }: HeadCheck,
): Promise<void> {
  const heads: number[] = [];
  for (let look = 1; look <= LOOKS; look += 1) {
    if (look > 1) await clock.sleep(PAUSE_MS, signal);
    const { last } = await readChainInfo(api, signal);
    if (last.utime >= seen - toleranceOf(delaySeconds)) return;
    heads.push(last.utime);
  }
  const from = Math.min(...heads) - delaySeconds;
  await withdrawReadSince(database, from, MINUTE + (clock.monotonic() - sinceMs) / 1000);
  throw new SourceWentBackError(
    `the source went back: its newest block is of ${formatTime(Math.max(...heads))}, and was of ${formatTime(seen)} before; what was read above ${formatTime(from)} meanwhile is not covered any more`,
    {
      ceiling: from,
      hint: 'It may have been restored from an older copy. When it has caught up, the same command reads the rest.',
    },
  );
}

/** Seconds before the head that are requested again, for blocks that become visible out of order. */
const OVERLAP = 120;
/**
 * Seconds of chain time for which a missing block holds the watermark. If it is missing for longer, it is a
 * gap in the source.
 */
const GAP_AGE = HOUR;
/** The longest time since another process's last look that is scanned at the start. */
const LONGEST_SCAN = DAY;

/** How far it is safe to read. */
export interface Watermark {
  /** No row with an earlier block time can still appear. Unix seconds; 0 if it is not known yet. */
  readonly utime: number;
  /** The masterchain block up to which every earlier one is visible, and its time. */
  readonly head: { readonly seqno: number; readonly utime: number };
  /** Time of the newest masterchain block that follows from the head and whose shard tops are visible. */
  readonly newest: number;
  /**
   * Below this, every replica of the source shows everything. Datasets without a delay of their own are read
   * up to here. At least `ETL_WATERMARK_DELAY` below the watermark.
   */
  readonly everywhere: number;
  /** Why the watermark did not move although it is below the newest visible block; for the operator. */
  readonly waitingFor: string | undefined;
  /** What is wrong with an answer of the source, if the watermark waits for a better one. */
  readonly unfit?: string | undefined;
  /** When the watermark rises without another poll, in milliseconds of the monotonic clock. */
  readonly dueMs?: number | undefined;
}

/** A watermark, and what the next process that polls has to know. */
export interface PolledWatermark extends Watermark {
  /** The watermark once the held-back blocks have been visible for long enough. */
  readonly visible: number;
  /** Time of the newest masterchain block of this poll, even if blocks below it are missing; 0 if there was none. */
  readonly shown: number;
  /** Gaps that the watermark has passed since the last poll. They must be stored before anything above them is read. */
  readonly gaps: readonly Gap[];
  readonly polls: readonly PollResult[];
}

export type WatermarkReader = ReturnType<typeof createWatermarkReader>;

/** A part of the chain that is not visible yet, named by its seqno or its key. */
interface Awaited {
  readonly kind: 'masterchain block' | 'shard state of masterchain block' | 'block';
  readonly name: string;
  /** What is wrong with the answer, if no later answer will differ. */
  readonly unfit?: string;
}

/** The chain as the last poll left it: the state between two polls. */
interface ChainState extends Omit<Watermark, 'everywhere' | 'waitingFor' | 'dueMs'> {
  readonly waitingFor: Awaited | undefined;
  /** Time of the newest masterchain block of the last poll, connected to the head or not. */
  readonly seen: number;
  /** Visible blocks near the head and above the watermark, by key. */
  readonly known: ReadonlyMap<string, LinkedBlock>;
  /** The shard tops of the head. Every block below them is visible. */
  readonly completeTops: ReadonlySet<string>;
  /** Keys of blocks that have been missing for too long to wait for them. */
  readonly lost: ReadonlySet<string>;
}

const UNKNOWN: ChainState = {
  utime: 0,
  head: { seqno: 0, utime: 0 },
  newest: 0,
  seen: 0,
  waitingFor: undefined,
  known: new Map(),
  completeTops: new Set(),
  lost: new Set(),
};

const NOTHING: SafeWatermark = { utime: 0, everywhere: 0 };

/** How a watermark is read. */
export interface WatermarkOptions {
  readonly api: ApiClient;
  readonly info: ChainInfo;
  readonly clock: Clock;
  /** How far one replica may lag behind another, in seconds. */
  readonly delaySeconds: number;
  /** The last polls of the process that polled before this one. */
  readonly before?: readonly PollResult[] | undefined;
  /**
   * The time of the head that another process has seen. Up to there no search for gaps is needed. Default: an
   * hour back.
   */
  readonly joinedUntil?: number | undefined;
}

/**
 * Masterchain blocks become visible out of order, and no visible block names a shard's newest blocks yet. Let
 * H be the last masterchain block up to which seqnos are contiguous. Every block that is not visible yet
 * descends from one of H's shard tops, and time never falls along a chain. So nothing can appear below the
 * smallest time of those tops, if all tops and everything below them are visible.
 */
export function createWatermarkReader({
  api,
  info,
  clock,
  delaySeconds,
  before,
  joinedUntil,
}: WatermarkOptions) {
  const finality = createFinalityDelay(delaySeconds, before);
  const size = blocksPageSize();
  let state = UNKNOWN;
  let gaps: readonly Gap[] = [];
  const polled = ({ utime: safe, everywhere }: SafeWatermark): PolledWatermark => {
    const { utime, head, newest, seen, waitingFor } = state;
    const dueAt = finality.dueAt();
    return {
      head,
      newest,
      utime: safe,
      everywhere,
      dueMs: dueAt && 1000 * dueAt,
      visible: utime,
      shown: seen,
      gaps,
      polls: finality.polls(),
      waitingFor: waitingFor && `${waitingFor.kind} ${waitingFor.name}`,
      unfit: waitingFor?.unfit,
    };
  };
  const seconds = () => clock.monotonic() / 1000;
  return {
    /** Polls the API (two requests if the head is near) and returns a watermark that never falls. */
    async read(signal: AbortSignal): Promise<PolledWatermark> {
      const asking: Asking = { api, priority: 'tail', signal };
      ({ state, gaps } = await pollChain(asking, state, { info, joinedUntil, size }));
      return polled(state.utime === 0 ? NOTHING : finality.addPoll(state, seconds()));
    },
    /** The watermark after more time has passed, without a request. */
    release: () => {
      gaps = [];
      return polled(state.utime === 0 ? NOTHING : finality.release(seconds()));
    },
  };
}

/** Polls once. Returns the chain as it is now, and the gaps for which it does not wait any more. */
async function pollChain(
  asking: Asking,
  state: ChainState,
  { info, joinedUntil, size }: Pick<WatermarkOptions, 'info' | 'joinedUntil'> & { readonly size: PageSize },
): Promise<{ readonly state: ChainState; readonly gaps: readonly Gap[] }> {
  const newest = Math.max(state.newest, state.seen, info.last.utime);
  const poll = async (before: ChainState, from: number) => {
    const blocks = await blocksSince(asking, { from, newest }, size);
    return advance(asking, withBlocks({ ...before, seen: 0 }, blocks));
  };
  if (state.head.seqno === 0) {
    const { from, gaps } = await scanForGaps(asking, info, joinedUntil).catch((error: unknown) => {
      // A server that cannot list masterchain blocks alone can still be read.
      if (!(error instanceof NotFoundError || error instanceof RequestRefusedError)) throw error;
      return { from: firstPollFrom(info), gaps: [] };
    });
    return { state: await poll(state, from), gaps };
  }
  const from = await pollFrom(asking, state);
  let next = await poll(state, from);
  // Everything that may have come late is checked before it is given up.
  if (overdueOf(next).length > 0 && from > next.utime) next = await poll(next, next.utime);
  const overdue = overdueOf(next);
  if (overdue.length === 0) return { state: next, gaps: [] };
  const lost = new Set([...next.lost, ...overdue.map(({ missing }) => blockKey(missing))]);
  return { state: await advance(asking, { ...next, lost }), gaps: gapsOf(overdue, next.utime) };
}

function firstPollFrom({ first, last }: Pick<ChainInfo, 'first' | 'last'>): number {
  return Math.max(first.utime, last.utime - LOOK_BACK);
}

/**
 * The start of the first poll: a little before the newest block, or below a masterchain block that has been missing for
 * less than an hour. Blocks that have been missing for longer, since another process's last look, are gaps.
 */
async function scanForGaps(
  asking: Asking,
  { first, last }: ChainInfo,
  joinedUntil: number | undefined,
): Promise<{ readonly from: number; readonly gaps: readonly Gap[] }> {
  const from = firstPollFrom({ first, last });
  const since = Math.max(first.utime, last.utime - LONGEST_SCAN, joinedUntil ?? last.utime - GAP_AGE);
  const gaps: Gap[] = [];
  if (since >= from) return { from, gaps };
  const { missing } = await missingMasterchain(asking, { from: since, to: from });
  for (const span of missing) {
    const found = await findGaps(asking, span);
    if (found.length > 0 && span.to > last.utime - GAP_AGE)
      return { from: Math.max(first.utime, span.from - OVERLAP), gaps };
    gaps.push(...found);
  }
  return { from, gaps };
}

/** Broken links above the watermark that are too old to wait for them. */
function overdueOf({ known, lost, utime, seen, waitingFor }: ChainState): BrokenLink[] {
  if (waitingFor === undefined || utime === 0) return [];
  return brokenLinks(known).filter(
    ({ missing, child, lower }) =>
      lower !== undefined &&
      !lost.has(blockKey(missing)) &&
      child.gen_utime >= utime &&
      child.gen_utime <= seen - GAP_AGE,
  );
}

/**
 * The start of the next poll: the watermark if a block is known to be missing, else the last poll. A block
 * that has been missing for long is requested by its name, because the blocks above it are known.
 */
async function pollFrom(asking: Asking, { utime, head, seen, waitingFor }: ChainState): Promise<number> {
  const recent = Math.max(utime, head.utime - OVERLAP);
  const isLongAgo = seen - OVERLAP > recent;
  if (waitingFor?.kind === 'masterchain block' && isLongAgo) {
    const found = await namedBlock(asking, masterchainId(head.seqno + 1));
    return found === undefined ? seen - OVERLAP : utime;
  }
  if (waitingFor?.kind !== 'block') return recent;
  const [workchain, shard = '', seqno] = waitingFor.name.split(':');
  const isThere =
    !isLongAgo ||
    (await namedBlock(asking, { workchain: Number(workchain), shard, seqno: Number(seqno) })) !== undefined;
  return isThere ? utime : seen - OVERLAP;
}

function withBlocks(state: ChainState, blocks: readonly LinkedBlock[]): ChainState {
  const known = new Map(state.known);
  for (const block of blocks) known.set(blockKey(block), block);
  return { ...state, known, seen: Math.max(state.seen, headTime(blocks)) };
}

/** Moves the head and the watermark as far as the visible blocks prove, or says which block is awaited. */
async function advance(asking: Asking, state: ChainState): Promise<ChainState> {
  const { known, completeTops, head, lost } = state;
  const waitFor = (kind: Awaited['kind'], name: string, unfit?: string) => ({
    ...state,
    waitingFor: { kind, name, ...(unfit !== undefined && { unfit }) },
  });
  const start = head.seqno === 0 ? firstSeqno(known) : head.seqno;
  const seqno = contiguousFrom(start, [...known.values()], lost);
  if (seqno === head.seqno) return waitFor('masterchain block', String(seqno + 1));
  const tops = await shardTops(asking, known, seqno);
  if (tops === undefined || !tiles(tops))
    return waitFor('shard state of masterchain block', String(seqno), tops && unfitOf(tops, seqno));
  const newest = Math.max(state.newest, headTime(tops));
  const withTops = { ...withBlocks(state, tops), newest };
  const missing = firstMissing(tops, withTops.known, completeTops, lost);
  if (missing !== undefined) return { ...withTops, waitingFor: { kind: 'block', name: missing } };
  const utime = Math.max(state.utime, Math.min(...tops.map(({ gen_utime }) => gen_utime)));
  return {
    utime,
    head: { seqno, utime: headTime(tops) },
    newest,
    seen: withTops.seen,
    waitingFor: undefined,
    known: withoutOld(withTops.known, utime),
    completeTops: new Set(tops.map(blockKey)),
    lost: state.lost,
  };
}

/** What is wrong with shard tops that lack a whole workchain; undefined if a shard may just be late. */
function unfitOf(tops: readonly LinkedBlock[], seqno: number): string | undefined {
  const there = new Set(tops.map(({ workchain }) => workchain));
  const missing = [MASTERCHAIN, 0].filter((workchain) => !there.has(workchain));
  if (missing.length === 0) return undefined;
  return `the shard state of masterchain block ${seqno} was answered, but its tops do not cover workchain ${missing.join(' and ')}`;
}

/** The error if nothing can be done before there is a watermark. */
export function watermarkNotKnown({ waitingFor, unfit }: Watermark): EtlError {
  const what = 'the watermark is not known';
  if (unfit !== undefined)
    return new UnfitSourceError(`${what}: ${unfit}`, {
      hint: 'The server is not a complete TON Center API, or its index is empty: run `toncenter-etl doctor`, and look at the server.',
    });
  return new ApiUnavailableError(`${what} yet: waiting for ${waitingFor ?? 'blocks'}`);
}

function firstSeqno(known: ReadonlyMap<string, LinkedBlock>): number {
  const seqnos = masterchainSeqnos([...known.values()]);
  return seqnos.length === 0 ? 0 : Math.min(...seqnos);
}

function headTime(blocks: readonly LinkedBlock[]): number {
  return Math.max(0, ...blocks.map((block) => (isOfMasterchain(block) ? block.gen_utime : 0)));
}

/**
 * All visible blocks from a second on. If a page ends before `newest`, which was seen before, the server
 * capped its limit.
 */
async function blocksSince(
  asking: Asking,
  { from, newest }: { readonly from: number; readonly newest: number },
  size: PageSize,
): Promise<LinkedBlock[]> {
  const all: LinkedBlock[] = [];
  for await (const { blocks, isFull } of visibleBlocks(asking, { from, size })) {
    all.push(...blocks);
    if (!isFull && (blocks.at(-1)?.gen_utime ?? 0) >= newest) break;
  }
  return all;
}

/**
 * The tops of all shards at a masterchain block; undefined if the block is not there yet (a 404 below the
 * head means later). Some servers leave the masterchain's own block out. It was visible before, and is added.
 */
async function shardTops(
  asking: Asking,
  known: ReadonlyMap<string, LinkedBlock>,
  seqno: number,
): Promise<LinkedBlock[] | undefined> {
  try {
    const tops = await askTops(asking, known, seqno);
    const own = known.get(blockKey(masterchainId(seqno)));
    const isWhole = own === undefined || tops.some(({ workchain }) => workchain === MASTERCHAIN);
    return isWhole || tops.length === 0 ? tops : [own, ...tops];
  } catch (error) {
    if (error instanceof NotFoundError) return undefined;
    throw error;
  }
}

/** If the server lacks the endpoint, v2 names the tops. */
async function askTops(
  asking: Asking,
  known: ReadonlyMap<string, LinkedBlock>,
  seqno: number,
): Promise<LinkedBlock[]> {
  const { api, priority, signal } = asking;
  const how = { params: { seqno }, priority, signal };
  try {
    const parse = (body: unknown) => parseCanonical(Blocks, body).blocks;
    return (await api.get({ ...how, path: '/api/v3/masterchainBlockShardState', parse })).value;
  } catch (error) {
    if (!(error instanceof NoEndpointError)) throw error;
  }
  const parse = (body: unknown) => parseCanonical(NamedShards, body).shards;
  const { value } = await api.call({ ...how, method: 'shards', parse });
  const tops: LinkedBlock[] = [];
  for (const id of value) {
    const top = known.get(blockKey(id)) ?? (await namedBlock(asking, id));
    if (top !== undefined) tops.push(top);
  }
  return tops;
}

const NamedShards = z.object({ shards: z.array(BlockId) });

/** Drops blocks well below the watermark, which are never requested again. */
function withoutOld(
  known: ReadonlyMap<string, LinkedBlock>,
  utime: number,
): ReadonlyMap<string, LinkedBlock> {
  return new Map([...known].filter(([, block]) => block.gen_utime >= utime - LOOK_BACK));
}

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
