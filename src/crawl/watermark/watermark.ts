import { z } from 'zod';
import type { ApiClient } from '../../api/client.ts';
import { ApiTimeoutError, ApiUnavailableError, NotFoundError } from '../../errors.ts';
import { tiles } from '../../ton/shard.ts';
import { blockKey } from '../../ton/block-key.ts';
import { contiguousFrom, firstMissing, LinkedBlock } from './block-links.ts';
import { createSettling, type Sight } from './settling.ts';
import type { ChainInfo } from './chain-info.ts';

/** Where the first look at a chain begins, in seconds before its newest visible block. */
const LOOK_BACK = 300;
const PAGE = 1000;
/** A server that has no time for so few is away. */
const LEAST_PAGE = 16;
/** Seconds before the head that are asked for again, for blocks that become visible out of order. */
const OVERLAP = 120;

const Blocks = z.object({ blocks: z.array(LinkedBlock) });

/** How far it is safe to read. */
export interface Watermark {
  /** No row with an earlier block time can still appear. Unix seconds; 0 where that cannot be told yet. */
  readonly utime: number;
  /** The masterchain block up to which every earlier one is visible, and its time. */
  readonly head: { readonly seqno: number; readonly utime: number };
  /** Time of the newest masterchain block that is visible, whatever is missing below it. */
  readonly newest: number;
  /** Why the watermark stands below the newest visible block, where it did not move; for the operator. */
  readonly waitingFor: string | undefined;
}

export interface WatermarkReader {
  /** Asks the API (two requests where the head is near) and returns a watermark that never falls. */
  read(signal: AbortSignal): Promise<Watermark>;
}

/**
 * Masterchain blocks become visible out of order, and a shard's newest blocks are named by nobody yet. Let H be the
 * last masterchain block up to which seqnos are contiguous. Every block that is not visible yet descends from one of
 * H's shard tops, and time never falls along a chain: so below the smallest time among those tops nothing can appear,
 * once all tops and everything below them is there. `before`: the last look of the process that looked before this one.
 */
export function createWatermarkReader(api: ApiClient, info: ChainInfo, before?: Sight): WatermarkReader {
  const known = new Map<string, LinkedBlock>();
  let settled: ReadonlySet<string> = new Set();
  const settle = createSettling(before);
  let current: Look | undefined;
  let newest = 0;
  // A server that once had no time for a page hardly has it a moment later.
  const size = { limit: PAGE };
  const stay = (waitingFor: string): Look => ({ ...(current ?? NOTHING), waitingFor });
  const look = async (signal: AbortSignal): Promise<Look> => {
    for (const block of await blocksSince(api, nextLook(current, info), size, signal))
      known.set(blockKey(block), block);
    newest = Math.max(newest, headTime([...known.values()]));
    // 0 while no look has succeeded yet.
    const last = current?.head.seqno ?? 0;
    const seqno = contiguousFrom(last === 0 ? firstSeqno(known) : last, known.values());
    if (seqno === last) return stay(`masterchain block ${seqno + 1}`);
    const tops = await shardTops(api, seqno, signal);
    if (tops === undefined || !tiles(tops)) return stay(`the shard state of masterchain block ${seqno}`);
    for (const top of tops) known.set(blockKey(top), top);
    const missing = firstMissing(tops, known, settled);
    if (missing !== undefined) return stay(`block ${missing}`);
    settled = new Set(tops.map(blockKey));
    const utime = lowest(tops, current);
    forget(known, utime);
    return { utime, head: { seqno, utime: headTime(tops) }, waitingFor: undefined };
  };
  return {
    async read(signal) {
      current = await look(signal);
      const utime = current.utime === 0 ? 0 : settle({ newest, utime: current.utime });
      return { ...current, newest, utime };
    },
  };
}

/** A watermark as one look shows it. */
type Look = Omit<Watermark, 'newest'>;

const NOTHING: Look = { utime: 0, head: { seqno: 0, utime: 0 }, waitingFor: undefined };

/** What to throw where nothing can be done before there is a watermark. */
export function untold({ waitingFor }: Watermark): ApiUnavailableError {
  return new ApiUnavailableError(
    `how far it is safe to read cannot be told yet: waiting for ${waitingFor ?? 'blocks'}`,
  );
}

/** From the watermark on where a block is known to be missing, else only what is new since the last look. */
function nextLook(current: Look | undefined, info: ChainInfo): number {
  if (current === undefined || current.head.seqno === 0)
    return Math.max(info.first.utime, info.last.utime - LOOK_BACK);
  return current.waitingFor?.startsWith('block') === true
    ? current.utime
    : Math.max(current.utime, current.head.utime - OVERLAP);
}

function firstSeqno(known: ReadonlyMap<string, LinkedBlock>): number {
  const seqnos = [...known.values()].filter(({ workchain }) => workchain === -1).map(({ seqno }) => seqno);
  return seqnos.length === 0 ? 0 : Math.min(...seqnos);
}

function lowest(tops: readonly LinkedBlock[], current: Look | undefined): number {
  return Math.max(current?.utime ?? 0, Math.min(...tops.map(({ gen_utime }) => gen_utime)));
}

function headTime(blocks: readonly LinkedBlock[]): number {
  return Math.max(0, ...blocks.map(({ workchain, gen_utime }) => (workchain === -1 ? gen_utime : 0)));
}

/** All visible blocks from a second on, in pages of closed seconds: each page begins where the last one's end lies. */
async function blocksSince(
  api: ApiClient,
  from: number,
  size: { limit: number },
  signal: AbortSignal,
): Promise<LinkedBlock[]> {
  const all: LinkedBlock[] = [];
  for (let at = from; ;) {
    const { limit } = size;
    const page = await blocksFrom(api, at, limit, signal);
    if (page === undefined) {
      size.limit = Math.ceil(limit / 2);
      continue;
    }
    all.push(...page);
    const last = page.at(-1)?.gen_utime ?? at;
    if (page.length < limit || last === at) return all;
    at = last;
  }
}

/** One page; undefined where the server ran out of time and a smaller page may pass. */
async function blocksFrom(
  api: ApiClient,
  at: number,
  limit: number,
  signal: AbortSignal,
): Promise<LinkedBlock[] | undefined> {
  try {
    const { value } = await api.get({
      path: '/api/v3/blocks',
      params: { start_utime: at, sort: 'asc', limit, offset: 0 },
      priority: 'tail',
      signal,
      parse: (body) => Blocks.parse(body).blocks,
    });
    return value;
  } catch (error) {
    if (error instanceof ApiTimeoutError && limit > LEAST_PAGE) return undefined;
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
      parse: (body) => Blocks.parse(body).blocks,
    });
    return value;
  } catch (error) {
    if (error instanceof NotFoundError) return undefined;
    throw error;
  }
}

/** Blocks well below the watermark are never asked for again. */
function forget(known: Map<string, LinkedBlock>, utime: number): void {
  for (const [key, block] of known) if (block.gen_utime < utime - LOOK_BACK) known.delete(key);
}
