import { parseCanonical } from '../../dataset/declaration/canonical.ts';
import * as z from 'zod';
import type { ApiClient } from '../../api/client.ts';
import type { Clock } from '../../clock.ts';
import { ApiTimeoutError, ApiUnavailableError, NotFoundError } from '../../errors.ts';
import { MASTERCHAIN, tiles } from '../../ton/shard.ts';
import { blockKey } from '../../ton/block-key.ts';
import { createPageSize, type PageSize } from '../page-size.ts';
import { contiguousFrom, firstMissing, LinkedBlock } from './block-links.ts';
import { createSettling, LOOK_BACK, type PollResult, type Settled } from './settling.ts';
import type { ChainInfo } from './chain-info.ts';

const PAGE = 1000;
/** About an hour of polls: a page that the server has no time for holds the watermark up. */
const PAGES_BEFORE_GROWTH = 500;
/** Seconds before the head that are asked for again, for blocks that become visible out of order. */
const OVERLAP = 120;

const Blocks = z.object({ blocks: z.array(LinkedBlock) });

/** How far it is safe to read. */
export interface Watermark {
  /** No row with an earlier block time can still appear. Unix seconds; 0 where that is not known yet. */
  readonly utime: number;
  /** The masterchain block up to which every earlier one is visible, and its time. */
  readonly head: { readonly seqno: number; readonly utime: number };
  /** Time of the newest masterchain block that follows from the head and whose shard tops are visible. */
  readonly newest: number;
  /**
   * Below it every replica of the source shows everything: how far to read what has no delay of its own. At least
   * `ETL_WATERMARK_DELAY` below the watermark.
   */
  readonly everywhere: number;
  /** Why the watermark stands below the newest visible block, where it did not move; for the operator. */
  readonly waitingFor: string | undefined;
  /** When more of it passes without another poll, in milliseconds of the clock that never runs backwards. */
  readonly dueMs?: number | undefined;
}

/** A watermark, and what the process that polls next has to know. */
export interface PolledWatermark extends Watermark {
  /** Where the watermark will be when what is held back has been visible for long enough. */
  readonly visible: number;
  readonly polls: readonly PollResult[];
}

export interface WatermarkReader {
  /** Asks the API (two requests where the head is near) and returns a watermark that never falls. */
  read(signal: AbortSignal): Promise<PolledWatermark>;
  /** What time has let pass since; asks nobody. */
  release(): PolledWatermark;
}

/** What of the chain is not visible yet, named by its seqno or its key. */
interface Awaited {
  readonly kind: 'masterchain block' | 'shard state of masterchain block' | 'block';
  readonly name: string;
}

/** The chain as the last poll left it; what is remembered between two polls. */
interface ChainState extends Omit<Watermark, 'everywhere' | 'waitingFor' | 'dueMs'> {
  readonly waitingFor: Awaited | undefined;
  /** Time of the newest masterchain block that the last poll was shown, joined to the head or not. */
  readonly seen: number;
  /** Visible blocks near the head and above the watermark, by key. */
  readonly known: ReadonlyMap<string, LinkedBlock>;
  /** The shard tops of the head: everything below them is there. */
  readonly settled: ReadonlySet<string>;
}

const UNKNOWN: ChainState = {
  utime: 0,
  head: { seqno: 0, utime: 0 },
  newest: 0,
  seen: 0,
  waitingFor: undefined,
  known: new Map(),
  settled: new Set(),
};

const NOTHING: Settled = { utime: 0, everywhere: 0 };

/** How a watermark is read. */
export interface WatermarkOptions {
  readonly api: ApiClient;
  readonly info: ChainInfo;
  readonly clock: Clock;
  /** How far a replica may lag behind the others, in seconds. */
  readonly delaySeconds: number;
  /** The last polls of the process that polled before this one. */
  readonly before?: readonly PollResult[] | undefined;
}

/**
 * Masterchain blocks become visible out of order, and a shard's newest blocks are named by nobody yet. Let H be the
 * last masterchain block up to which seqnos are contiguous. Every block that is not visible yet descends from one of
 * H's shard tops, and time never falls along a chain: so below the smallest time among those tops nothing can appear,
 * once all tops and everything below them is there.
 */
export function createWatermarkReader({
  api,
  info,
  clock,
  delaySeconds,
  before,
}: WatermarkOptions): WatermarkReader {
  const settling = createSettling(delaySeconds, before);
  const size = createPageSize(PAGE, { pagesBeforeGrowth: PAGES_BEFORE_GROWTH });
  let state = UNKNOWN;
  const given = ({ utime: settled, everywhere }: Settled): PolledWatermark => {
    const { utime, head, newest, waitingFor } = state;
    const dueAt = settling.dueAt();
    return {
      head,
      newest,
      utime: settled,
      everywhere,
      dueMs: dueAt && 1000 * dueAt,
      visible: utime,
      polls: settling.polls(),
      waitingFor: waitingFor && `${waitingFor.kind} ${waitingFor.name}`,
    };
  };
  const seconds = () => clock.monotonic() / 1000;
  return {
    async read(signal) {
      const newest = Math.max(state.newest, state.seen, info.last.utime);
      const blocks = await blocksSince(api, { from: pollFrom(state, info), newest }, size, signal);
      state = await advance(api, withBlocks({ ...state, seen: 0 }, blocks), signal);
      return given(state.utime === 0 ? NOTHING : settling.settle(state, seconds()));
    },
    release: () => given(state.utime === 0 ? NOTHING : settling.release(seconds())),
  };
}

/** From the watermark on where a block is known to be missing, else only what is new since the last poll. */
function pollFrom({ utime, head, waitingFor }: ChainState, info: ChainInfo): number {
  if (head.seqno === 0) return Math.max(info.first.utime, info.last.utime - LOOK_BACK);
  return waitingFor?.kind === 'block' ? utime : Math.max(utime, head.utime - OVERLAP);
}

function withBlocks(state: ChainState, blocks: readonly LinkedBlock[]): ChainState {
  const known = new Map(state.known);
  for (const block of blocks) known.set(blockKey(block), block);
  return { ...state, known, seen: Math.max(state.seen, headTime(blocks)) };
}

/** Moves the head and the watermark as far as the visible blocks prove, or says what is awaited. */
async function advance(api: ApiClient, state: ChainState, signal: AbortSignal): Promise<ChainState> {
  const { known, settled, head } = state;
  const waitFor = (kind: Awaited['kind'], name: string) => ({ ...state, waitingFor: { kind, name } });
  const seqno = contiguousFrom(head.seqno === 0 ? firstSeqno(known) : head.seqno, known.values());
  if (seqno === head.seqno) return waitFor('masterchain block', String(seqno + 1));
  const tops = await shardTops(api, seqno, signal);
  if (tops === undefined || !tiles(tops)) return waitFor('shard state of masterchain block', String(seqno));
  const newest = Math.max(state.newest, headTime(tops));
  const withTops = { ...withBlocks(state, tops), newest };
  const missing = firstMissing(tops, withTops.known, settled);
  if (missing !== undefined) return { ...withTops, waitingFor: { kind: 'block', name: missing } };
  const utime = Math.max(state.utime, Math.min(...tops.map(({ gen_utime }) => gen_utime)));
  return {
    utime,
    head: { seqno, utime: headTime(tops) },
    newest,
    seen: withTops.seen,
    waitingFor: undefined,
    known: withoutOld(withTops.known, utime),
    settled: new Set(tops.map(blockKey)),
  };
}

/** The error where nothing can be done before there is a watermark. */
export function watermarkNotKnown({ waitingFor }: Watermark): ApiUnavailableError {
  return new ApiUnavailableError(
    `how far it is safe to read is not known yet: waiting for ${waitingFor ?? 'blocks'}`,
  );
}

function firstSeqno(known: ReadonlyMap<string, LinkedBlock>): number {
  const seqnos = [...known.values()]
    .filter(({ workchain }) => workchain === MASTERCHAIN)
    .map(({ seqno }) => seqno);
  return seqnos.length === 0 ? 0 : Math.min(...seqnos);
}

function headTime(blocks: readonly LinkedBlock[]): number {
  return Math.max(
    0,
    ...blocks.map(({ workchain, gen_utime }) => (workchain === MASTERCHAIN ? gen_utime : 0)),
  );
}

/**
 * All visible blocks from a second on, in pages of closed seconds: each page begins where the last one's end lies, but
 * within a second that fills pages. One that ends before `newest`, which was seen before, was cut by a server that gives
 * fewer rows than it is asked for.
 */
async function blocksSince(
  api: ApiClient,
  { from, newest }: { readonly from: number; readonly newest: number },
  size: PageSize,
  signal: AbortSignal,
): Promise<LinkedBlock[]> {
  const all: LinkedBlock[] = [];
  for (let at = { second: from, offset: 0 }; ;) {
    const page = await blocksFrom(api, at, size, signal);
    if (page === undefined) continue;
    all.push(...page.blocks);
    const last = page.blocks.at(-1)?.gen_utime ?? at.second;
    if (page.blocks.length === 0 || (!page.isFull && last >= newest)) return all;
    at = last === at.second ? { ...at, offset: at.offset + page.blocks.length } : { second: last, offset: 0 };
  }
}

/** One page; undefined where the server ran out of time and a smaller page may pass. */
async function blocksFrom(
  api: ApiClient,
  { second, offset }: { readonly second: number; readonly offset: number },
  size: PageSize,
  signal: AbortSignal,
): Promise<{ readonly blocks: LinkedBlock[]; readonly isFull: boolean } | undefined> {
  const limit = size.current();
  try {
    const { value, request } = await api.get({
      path: '/api/v3/blocks',
      params: { start_utime: second, sort: 'asc', limit, offset },
      priority: 'tail',
      signal,
      parse: (body) => parseCanonical(Blocks, body).blocks,
    });
    size.arrived();
    return { blocks: value, isFull: value.length >= (request.limit ?? limit) };
  } catch (error) {
    if (error instanceof ApiTimeoutError && size.timedOut(limit)) return undefined;
    throw error;
  }
}

/** Undefined where the block is not there yet: a 404 below the head means later. */
async function shardTops(
  api: ApiClient,
  seqno: number,
  signal: AbortSignal,
): Promise<LinkedBlock[] | undefined> {
  try {
    const { value } = await api.get({
      path: '/api/v3/masterchainBlockShardState',
      params: { seqno },
      priority: 'tail',
      signal,
      parse: (body) => parseCanonical(Blocks, body).blocks,
    });
    return value;
  } catch (error) {
    if (error instanceof NotFoundError) return undefined;
    throw error;
  }
}

/** Blocks well below the watermark are never asked for again. */
function withoutOld(
  known: ReadonlyMap<string, LinkedBlock>,
  utime: number,
): ReadonlyMap<string, LinkedBlock> {
  return new Map([...known].filter(([, block]) => block.gen_utime >= utime - LOOK_BACK));
}
