import * as z from 'zod';
import { parseCanonical } from '../dataset/declaration/record.ts';
import { workchain } from '../records/members.ts';
import type { ApiClient } from '../api/client.ts';
import type { Priority } from '../budget/request-budget.ts';
import { type Params, type Position, readLt } from '../dataset/paginators/paginator.ts';
import type { Session } from '../postgres/database.ts';
import { readMasterchainBlocks, type BoundingBlock } from '../read/bounding-blocks.ts';
import { mayConcernPage, NoEndpointError } from '../errors.ts';
import { type Range, isInside } from '../range.ts';
import { MASTERCHAIN } from '../ton/shard.ts';

/** The smallest page that is requested. If the server fails below this, size is not the cause. */
const SMALLEST = 10;
const PAGES_BEFORE_GROWTH = 8;

export type PageSize = ReturnType<typeof createPageSize>;

/**
 * How many rows to request at once: halved if the server times out, doubled again if it does not. `pagesBeforeGrowth`:
 * the number of pages in a row before a larger one is tried.
 */
export function createPageSize(largest: number, pagesBeforeGrowth = PAGES_BEFORE_GROWTH) {
  let size = largest;
  let streak = 0;
  return {
    current: () => size,
    /** Notes a timeout of a page of this size; false if it cannot be made smaller. */
    timedOut(asked: number): boolean {
      streak = 0;
      // Concurrent requests may have asked for the larger page at the same time: it is halved once.
      if (asked <= size) size = Math.max(SMALLEST, Math.floor(asked / 2));
      return asked > SMALLEST;
    },
    arrived(): void {
      streak += 1;
      if (streak < pagesBeforeGrowth || size === largest) return;
      streak = 0;
      size = Math.min(largest, size * 2);
    },
  };
}

/** Shorter pages are believed at once: no server caps so low, and quiet windows often hold as few rows. */
const FEWEST = 10;
/** After this many whole pages of a length, the page that was cut counts as an answer of a lagging replica. */
const WHOLE_PAGES = 3;

export type LimitTrust = ReturnType<typeof createLimitTrust>;
export type SpanTrust = ReturnType<typeof openSpan>;

interface JudgedPage {
  /** The limit that was sent. */
  readonly asked: number;
  readonly window: AskedWindow;
  readonly positions: readonly Position[];
}

/** The window of a request, from its beginning. */
interface AskedWindow {
  /** End, exclusive, unix seconds. */
  readonly until: number;
  /** Bounds of logical time, both inclusive, if a second is split by it. */
  readonly startLt?: bigint | undefined;
  readonly endLt?: bigint | undefined;
  /** Rows at the beginning of the window that were skipped. */
  readonly offset: number;
}

interface PageVerdict {
  /**
   * The size that decides whether a page is full: the requested limit, or the page's own length if it may
   * have been cut.
   */
  readonly size: number;
  /** Called if the page answers its request: from then on it counts. */
  readonly accept: () => void;
}

interface Known {
  /** The longest page that was certainly whole. */
  whole: number;
  /** The longest page so far: a capping server never cuts a page shorter. */
  longest: number;
  /** Shorter lengths that were whole although they looked like a limit. */
  readonly innocent: Set<number>;
  /** Lengths at which a page was cut once, with the number of whole pages of this length since. */
  readonly suspected: Map<number, number>;
  /** The length at which the server cuts pages; Infinity if none is proved. */
  cap: number;
}

/** A short page that may have been cut. */
interface DoubtfulPage {
  readonly ids: ReadonlySet<string>;
  /** New rows outside this window do not count. */
  readonly window: AskedWindow;
}

/**
 * Decides whether a short page may be the end of its window. A server that silently caps `limit` cuts every
 * page at the same length. So a page is doubted if it is longer than every page before it, or if its length
 * is a typical limit. A doubted page counts as full: the paginator asks once more from its end.
 *
 * If new rows of the same window come, the page was cut. One such page may be an answer of a lagging replica;
 * the second one of the same length proves the cap. From then on, requests ask for no more. If no new rows
 * come, pages of this length are whole.
 *
 * Each length is doubted at most once a run. In dense history nearly every page is full, so the rule costs a
 * few requests a run.
 */
export function createLimitTrust(onCap: (cap: number) => void) {
  const known: Known = { whole: 0, longest: 0, innocent: new Set(), suspected: new Map(), cap: Infinity };
  return {
    /** The limit to send if `wanted` rows are wanted: at most the known cap of the server. */
    limit: (wanted: number) => Math.min(wanted, known.cap),
    openSpan: (span: Range) => openSpan(known, span, onCap),
  };
}

/** Judges the pages of one span, in their order. */
function openSpan(known: Known, span: Range, onCap: (cap: number) => void) {
  let doubt: DoubtfulPage | undefined;
  return {
    /** Nothing is remembered until the verdict is accepted. */
    judge({ asked, window, positions }: JudgedPage): PageVerdict {
      const rows = positions.length;
      const wasCut = doubt !== undefined && positions.some((position) => isNew(position, doubt));
      const isDoubted = rows < asked && isDoubtful(known, rows);
      return {
        size: isDoubted ? rows : asked,
        accept: () => {
          if (wasCut && doubt !== undefined) learnCut(known, doubt.ids.size, onCap);
          if (rows >= asked) known.whole = Math.max(known.whole, rows);
          known.longest = Math.max(known.longest, rows);
          if (wasCut) doubt = undefined;
          if (isDoubted && rows !== known.cap && showsItsEnd(window))
            doubt = {
              ids: new Set(positions.map(({ id }) => id)),
              window: { ...window, until: Math.min(window.until, span.to) },
            };
        },
      };
    },
    /** The span was read to its end. */
    ended(): void {
      if (doubt === undefined) return;
      learnWhole(known, doubt.ids.size);
      doubt = undefined;
    },
  };
}

function isNew({ utime, lt, id }: Position, doubt: DoubtfulPage | undefined): boolean {
  if (doubt === undefined || doubt.ids.has(id)) return false;
  const { until, startLt, endLt } = doubt.window;
  if (utime >= until) return false;
  if (startLt === undefined && endLt === undefined) return true;
  const time = readLt(lt);
  if (time === undefined) return false;
  return (startLt === undefined || time >= startLt) && (endLt === undefined || time <= endLt);
}

/** Offsets within one logical time have no fixed order: a later row may have been skipped before. */
function showsItsEnd({ offset, startLt, endLt }: AskedWindow): boolean {
  return offset === 0 || (startLt === undefined && endLt === undefined);
}

/** After a cut page, one whole page proves nothing: a window may hold exactly as many rows as the server's limit. */
function learnWhole(known: Known, rows: number): void {
  known.innocent.add(rows);
  known.whole = Math.max(known.whole, rows);
  const times = known.suspected.get(rows);
  if (times === undefined) return;
  if (times + 1 < WHOLE_PAGES) known.suspected.set(rows, times + 1);
  else known.suspected.delete(rows);
}

function learnCut(known: Known, rows: number, onCap: (cap: number) => void): void {
  if (!known.suspected.has(rows)) known.suspected.set(rows, 0);
  else if (rows < known.cap) {
    known.cap = rows;
    onCap(rows);
  }
}

function isDoubtful({ whole, longest, innocent, suspected, cap }: Known, rows: number): boolean {
  if (rows < FEWEST) return false;
  if (rows === cap || suspected.has(rows)) return true;
  return (rows > whole && rows >= longest) || (looksLikeLimit(rows) && !innocent.has(rows));
}

/** 10, 20, 50, 100, 256, 500, 1000 and the like. */
function looksLikeLimit(rows: number): boolean {
  return rows % 50 === 0 || (rows <= 100 && rows % 10 === 0) || Number.isInteger(Math.log2(rows));
}

/** The weight of earlier pages after each new page. */
const MEMORY = 0.8;

export type Density = ReturnType<typeof createDensity>;

/**
 * How many seconds of a dataset a page holds, learned from the pages so far. Keeps sums, not a mean of ratios: one empty page would outweigh fifty full ones, and one reader would do
 * all the work.
 */
export function createDensity(pageSize: number) {
  const seen = { rows: 0, seconds: 0 };
  return {
    /** Undefined until a page has come. */
    pageSeconds: () => (seen.seconds === 0 ? undefined : (seen.seconds / Math.max(1, seen.rows)) * pageSize),
    /** `rows` rows completed a span. */
    learn(rows: number, { from, to }: Range): void {
      seen.rows = seen.rows * MEMORY + rows;
      seen.seconds = seen.seconds * MEMORY + (to - from);
    },
  };
}

/** Pages of the longest lease: few short pages at the end of leases, and enough leases to share. */
export const LONGEST_PAGES = 48;

/**
 * Pages of the shortest lease, as long as there are this many for each reader. Below this, the short page at its end
 * would cost more than an idle reader. Fewer pages are shared evenly, because no other reader would use the requests.
 */
const SHORTEST_PAGES = 4;

/**
 * The part of a page by which a lease is shorter. So its last page is nearly full, and an additional one is
 * seldom needed.
 */
const SPARE = 0.2;

/**
 * How many of the free seconds a reader takes: half of an even share. So leases become shorter towards the
 * end, and all readers are busy until then. Guided self-scheduling (Polychronopoulos and Kuck, 1987). Until a
 * first page has shown how much time a page holds, a reader takes all.
 */
export function leaseLength(readers: number, pageSeconds: number | undefined): (free: number) => number {
  if (pageSeconds === undefined) return (free) => free;
  return (free) => {
    const share = free / pageSeconds / Math.max(1, readers);
    const shortest = Math.min(SHORTEST_PAGES, Math.ceil(share));
    const pages = Math.min(LONGEST_PAGES, Math.max(1, shortest, Math.floor(share / 2)));
    return Math.max(1, Math.floor((pages - SPARE) * pageSeconds));
  };
}

/**
 * A shard block refers to a masterchain block that is slightly older, and is registered by one that is
 * slightly younger.
 */
const MARGIN_SECONDS = 60;
/** Additional masterchain blocks, in case the masterchain stalled. No single block is trusted. */
const MARGIN_BLOCKS = 16;
/** Blocks farther away bound the same seconds, but make the server scan more. */
const BOUND_WINDOW_SECONDS = 300;
/** How many masterchain blocks one request asks for: those of 15 to 40 minutes, and half a megabyte. */
const ASKED_BLOCKS = 500;
/** How many answers are remembered: some megabytes. */
const MOST_ANSWERS = 64;

interface BoundsRequest {
  readonly priority: Priority;
  readonly signal: AbortSignal;
}

export type LtBounds = ReturnType<typeof createLtBounds>;

type BoundSide = 'start' | 'end';

/**
 * Finds the logical times of some seconds, for endpoints that are indexed by logical time.
 *
 * The logical times of a block are later than those of the masterchain block that it refers to. They are earlier than
 * those of the masterchain block that registers it. The masterchain's own logical times only grow. So all rows of the
 * seconds `[from, to)` are later than the last masterchain block to which every block of `from` can refer. They are
 * earlier than the first masterchain block that registers every block before `to`, in any shard. The end of a trace has
 * its greatest logical time and its latest second, possibly of two transactions. It is not less than that
 * of the latest transaction, and belongs to a transaction before `to`. So traces keep within the same bounds.
 *
 * The bounds are one minute and 16 masterchain blocks wider than the seconds, on either side. Bounds that are too wide
 * cost the server time; bounds that are too narrow would lose rows. Any existing block that is far enough away is a
 * bound, even if blocks are missing around it.
 *
 * Takes bounds from stored blocks. If none are stored, it asks the API and remembers the last answer on each
 * side. If the source lacks those blocks, there is no bound: the rows are the same.
 */
export function createLtBounds({ api, database }: { readonly api: ApiClient; readonly database: Session }) {
  /** Blocks in order of time; the newest answer first. */
  const answers: (readonly BoundingBlock[])[] = [];
  const ask = async (window: Params, asking: BoundsRequest) => {
    const blocks = await askBlocks(api, window, asking).catch(noneWhereUnknown);
    answers.unshift(blocks.toSorted(byTime));
    answers.length = Math.min(answers.length, MOST_ANSWERS);
  };
  const find = async (
    side: BoundSide,
    seconds: Range,
    asking: BoundsRequest,
  ): Promise<bigint | undefined> => {
    const within = side === 'start' ? beforeOf(seconds) : behindOf(seconds);
    const which = side === 'start' ? 'last' : 'first';
    const stored = await readMasterchainBlocks(database, within, which, MARGIN_BLOCKS);
    const known = () =>
      [stored.toSorted(byTime), ...answers]
        .map((blocks) => boundOf(side, blocks, within))
        .find((bound) => bound !== undefined);
    let bound = known();
    // At the head no block lies far enough after the seconds yet, and the server has little to scan.
    for (const window of asking.priority === 'tail' ? [] : windowsOf(side, within)) {
      if (bound !== undefined) break;
      await ask(window, asking);
      bound = known();
    }
    return bound;
  };
  return {
    /** Logical times between which all rows of some seconds lie; undefined is unbounded. */
    of: async (seconds: Range, asking: BoundsRequest) => ({
      start: await find('start', seconds, asking),
      end: await find('end', seconds, asking),
    }),
  };
}

/** The requests that may find blocks for a bound, in order. */
function windowsOf(side: BoundSide, { from, to }: Range): Params[] {
  const onwards = { start_utime: from, sort: 'asc', limit: ASKED_BLOCKS };
  // The masterchain may be so slow that the blocks that are needed lie farther back.
  const back = { end_utime: to - 1, sort: 'desc', limit: MARGIN_BLOCKS };
  return side === 'start' ? [onwards, back] : [onwards];
}

const byTime = (one: BoundingBlock, other: BoundingBlock) => one.gen_utime - other.gen_utime;

/** The seconds whose masterchain blocks are lower bounds. */
function beforeOf({ from }: Range): Range {
  const to = from - MARGIN_SECONDS + 1;
  return { from: to - BOUND_WINDOW_SECONDS, to };
}

/** The seconds whose masterchain blocks are upper bounds. */
function behindOf({ to }: Range): Range {
  const from = to + MARGIN_SECONDS;
  return { from, to: from + BOUND_WINDOW_SECONDS };
}

/**
 * The widest bound of the blocks nearest to a side of the seconds; undefined if there are too few, or the nearest one is
 * too far away.
 */
function boundOf(side: BoundSide, blocks: readonly BoundingBlock[], within: Range): bigint | undefined {
  const near =
    side === 'start'
      ? blocks.filter(({ gen_utime }) => gen_utime < within.to).slice(-MARGIN_BLOCKS)
      : blocks.filter(({ gen_utime }) => gen_utime >= within.from).slice(0, MARGIN_BLOCKS);
  const nearest = side === 'start' ? near.at(-1) : near[0];
  if (near.length < MARGIN_BLOCKS || nearest === undefined || !isInside(nearest.gen_utime, within))
    return undefined;
  const lts = near.map(({ start_lt, end_lt }) => (side === 'start' ? start_lt : end_lt));
  return lts.reduce((one, other) => (one < other === (side === 'start') ? one : other));
}

const Blocks = z.object({
  blocks: z.array(
    z
      .object({
        workchain,
        gen_utime: z.coerce.number(),
        start_lt: z.coerce.bigint(),
        end_lt: z.coerce.bigint(),
      })
      .refine((block) => block.workchain === MASTERCHAIN, 'is no block of the masterchain'),
  ),
});

async function askBlocks(api: ApiClient, window: Params, asking: BoundsRequest): Promise<BoundingBlock[]> {
  const { value } = await api.get({
    ...asking,
    path: '/api/v3/blocks',
    params: { workchain: MASTERCHAIN, ...window },
    parse: (body) => parseCanonical(Blocks, body).blocks,
  });
  return value;
}

function noneWhereUnknown(error: unknown): BoundingBlock[] {
  if (error instanceof NoEndpointError || mayConcernPage(error)) return [];
  throw error;
}
