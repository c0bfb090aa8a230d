import { parseCanonical } from '../../dataset/declaration/canonical.ts';
import * as z from 'zod';
import type { ApiClient } from '../../api/client.ts';
import type { Clock } from '../../clock.ts';
import type { EtlError } from '../../errors.ts';
import {
  ApiUnavailableError,
  NoEndpointError,
  NotFoundError,
  RequestRefusedError,
  UnfitSourceError,
} from '../../errors.ts';
import type { Gap } from '../../ledger/stored-gaps.ts';
import { DAY, HOUR } from '../../range.ts';
import { MASTERCHAIN, tiles } from '../../ton/shard.ts';
import { blockKey } from '../../ton/block-key.ts';
import type { PageSize } from '../page-size.ts';
import { findGaps, gapsOf, missingMasterchain } from '../gaps.ts';
import {
  BlockId,
  brokenLinks,
  contiguousFrom,
  firstMissing,
  masterchainId,
  type BrokenLink,
  type LinkedBlock,
} from '../block-links.ts';
import { createSettling, LOOK_BACK, type PollResult, type Settled } from './settling.ts';
import type { ChainInfo } from '../chain-info.ts';
import { Blocks, blocksPageSize, namedBlock, visibleBlocks, type Asking } from '../visible-blocks.ts';

/** Seconds before the head that are asked for again, for blocks that become visible out of order. */
const OVERLAP = 120;
/** Seconds of chain time for which a missing block holds the watermark. What is missing for longer is a gap of the source. */
const GAP_AGE = HOUR;
/** What lay so far back when another process looked last is looked through at the start. */
const LONGEST_SCAN = DAY;

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
  /** What is wrong with an answer of the source, where the watermark waits for one of another form. */
  readonly unfit?: string | undefined;
  /** When more of it passes without another poll, in milliseconds of the clock that never runs backwards. */
  readonly dueMs?: number | undefined;
}

/** A watermark, and what the process that polls next has to know. */
export interface PolledWatermark extends Watermark {
  /** Where the watermark will be when what is held back has been visible for long enough. */
  readonly visible: number;
  /** Time of the newest masterchain block that this poll was shown, whatever is missing below it; 0 if it was shown none. */
  readonly shown: number;
  /** Gaps that the watermark has passed since the last poll: they must be kept before anything above them is read. */
  readonly gaps: readonly Gap[];
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
  /** What is wrong with an answer that is there: no later one will be another. */
  readonly unfit?: string;
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
  /** Blocks that were missing for so long that they are given up, by key. */
  readonly lost: ReadonlySet<string>;
}

const UNKNOWN: ChainState = {
  utime: 0,
  head: { seqno: 0, utime: 0 },
  newest: 0,
  seen: 0,
  waitingFor: undefined,
  known: new Map(),
  settled: new Set(),
  lost: new Set(),
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
  /** Time of the head that another process has seen: up to there no look for gaps is needed. Default: an hour back. */
  readonly joinedUntil?: number | undefined;
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
  joinedUntil,
}: WatermarkOptions): WatermarkReader {
  const settling = createSettling(delaySeconds, before);
  const size = blocksPageSize();
  let state = UNKNOWN;
  let gaps: readonly Gap[] = [];
  const given = ({ utime: settled, everywhere }: Settled): PolledWatermark => {
    const { utime, head, newest, seen, waitingFor } = state;
    const dueAt = settling.dueAt();
    return {
      head,
      newest,
      utime: settled,
      everywhere,
      dueMs: dueAt && 1000 * dueAt,
      visible: utime,
      shown: seen,
      gaps,
      polls: settling.polls(),
      waitingFor: waitingFor && `${waitingFor.kind} ${waitingFor.name}`,
      unfit: waitingFor?.unfit,
    };
  };
  const seconds = () => clock.monotonic() / 1000;
  return {
    async read(signal) {
      const asking: Asking = { api, priority: 'tail', signal };
      ({ state, gaps } = await pollChain(asking, state, { info, joinedUntil, size }));
      return given(state.utime === 0 ? NOTHING : settling.settle(state, seconds()));
    },
    release: () => {
      gaps = [];
      return given(state.utime === 0 ? NOTHING : settling.release(seconds()));
    },
  };
}

/** Polls once: the chain as it is now, and the gaps that nothing is waited for in any more. */
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
      // A server that lists no masterchain blocks alone can be read all the same.
      if (!(error instanceof NotFoundError || error instanceof RequestRefusedError)) throw error;
      return { from: firstPollFrom(info), gaps: [] };
    });
    return { state: await poll(state, from), gaps };
  }
  const from = await pollFrom(asking, state);
  let next = await poll(state, from);
  // All that may have come late is looked at before it is given up.
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
 * Where the first poll begins: a little before the newest block, or below a masterchain block that has been missing for
 * less than an hour. What is missing for longer, since another process looked last, is a gap.
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

/** Links above the watermark that have been broken for too long to be waited for. */
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
 * From the watermark on where a block is known to be missing, else only what is new since the last poll. One that has
 * been missing for long is looked for by its name: what lies above it is known.
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

/** Moves the head and the watermark as far as the visible blocks prove, or says what is awaited. */
async function advance(asking: Asking, state: ChainState): Promise<ChainState> {
  const { known, settled, head, lost } = state;
  const waitFor = (kind: Awaited['kind'], name: string, unfit?: string) => ({
    ...state,
    waitingFor: { kind, name, ...(unfit !== undefined && { unfit }) },
  });
  const start = head.seqno === 0 ? firstSeqno(known) : head.seqno;
  const seqno = contiguousFrom(start, known.values(), lost);
  if (seqno === head.seqno) return waitFor('masterchain block', String(seqno + 1));
  const tops = await shardTops(asking, known, seqno);
  if (tops === undefined || !tiles(tops))
    return waitFor('shard state of masterchain block', String(seqno), tops && unfitOf(tops, seqno));
  const newest = Math.max(state.newest, headTime(tops));
  const withTops = { ...withBlocks(state, tops), newest };
  const missing = firstMissing(tops, withTops.known, settled, lost);
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
    lost: state.lost,
  };
}

/** What is wrong with shard tops of which a whole workchain is missing; undefined where one of its shards may come late. */
function unfitOf(tops: readonly LinkedBlock[], seqno: number): string | undefined {
  const there = new Set(tops.map(({ workchain }) => workchain));
  const missing = [MASTERCHAIN, 0].filter((workchain) => !there.has(workchain));
  if (missing.length === 0) return undefined;
  return `the shard state of masterchain block ${seqno} was answered, but its tops do not cover workchain ${missing.join(' and ')}`;
}

/** The error where nothing can be done before there is a watermark. */
export function watermarkNotKnown({ waitingFor, unfit }: Watermark): EtlError {
  const what = 'how far it is safe to read is not known';
  if (unfit !== undefined)
    return new UnfitSourceError(`${what}: ${unfit}`, {
      hint: 'The server is no complete TON Center API, or its index is empty: run `toncenter-etl doctor`, and look at the server.',
    });
  return new ApiUnavailableError(`${what} yet: waiting for ${waitingFor ?? 'blocks'}`);
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
 * All visible blocks from a second on. A page that ends before `newest`, which was seen before, was cut by a server that
 * gives fewer rows than it is asked for.
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
 * The tops of all shards at a masterchain block; undefined where the block is not there yet: a 404 below the head means
 * later. A server that leaves the masterchain's own block out has shown it before: it is the one that was asked for.
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

/** Of a server without the endpoint, v2 names the tops. */
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

/** Blocks well below the watermark are never asked for again. */
function withoutOld(
  known: ReadonlyMap<string, LinkedBlock>,
  utime: number,
): ReadonlyMap<string, LinkedBlock> {
  return new Map([...known].filter(([, block]) => block.gen_utime >= utime - LOOK_BACK));
}
