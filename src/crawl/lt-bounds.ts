import { parseCanonical } from '../dataset/declaration/canonical.ts';
import { workchain } from '../records/members/form.ts';
import * as z from 'zod';
import type { ApiClient } from '../api/client.ts';
import type { Priority } from '../budget/priority.ts';
import type { Params } from '../dataset/paginators/paginator.ts';
import type { Session } from '../postgres/database.ts';
import { readMasterchainBlocks, type BoundingBlock } from '../read/bounding-blocks.ts';
import { mayConcernPage, NoEndpointError } from '../errors.ts';
import { type Range, isInside } from '../range.ts';
import { MASTERCHAIN } from '../ton/shard.ts';

/** A shard's block names a masterchain block that is hardly older, and is registered by one that is hardly younger. */
const MARGIN_SECONDS = 60;
/** So many masterchain blocks more, in case the masterchain stood still: each of them is believed as little as the others. */
const MARGIN_BLOCKS = 16;
/** Blocks farther away than this bound the same seconds, but make the server look through more. */
const REACH_SECONDS = 300;

interface BoundsOptions {
  readonly api: ApiClient;
  readonly database: Session;
}

interface BoundsRequest {
  readonly priority: Priority;
  readonly signal: AbortSignal;
}

/** Logical times between which everything of some seconds ends; undefined is unbounded. */
export interface LtRange {
  readonly start: bigint | undefined;
  readonly end: bigint | undefined;
}

/**
 * Finds the logical times that belong to seconds, for endpoints whose index is by logical time.
 *
 * A block's logical times are later than those of the masterchain block that it refers to, and earlier than those of the
 * masterchain block that registers it. The masterchain's own only grow, with its seconds. So what lies in the seconds
 * `[from, to)` is later than the last masterchain block that every block of `from` can refer to, and earlier than the
 * first one by which every block before `to` is registered, in whatever shard it lies. A trace ends with its greatest
 * logical time and its latest second, perhaps of two transactions. The first is no less than that of the second's
 * transaction and belongs to one before `to`, so it keeps within the same bounds.
 *
 * The bounds are taken a minute and 16 masterchain blocks beyond the seconds, on either side. Too wide costs the server
 * time; too narrow would lose rows. Any true block far enough away is a bound, whether or not blocks are missing around it.
 */
export interface LtBounds {
  of(seconds: Range, asking: BoundsRequest): Promise<LtRange>;
}

/** Where some masterchain blocks lie and what they bound. */
interface Bound {
  readonly utime: number;
  readonly lt: bigint;
}

type Side = 'start' | 'end';

/**
 * Bounds from stored blocks; where none are stored, from the API, of which the last answer on each side is remembered.
 * A source without those blocks is asked without a bound: the rows are the same.
 */
export function createLtBounds({ api, database }: BoundsOptions): LtBounds {
  const remembered = new Map<Side, Bound>();
  const find = async (side: Side, seconds: Range, asking: BoundsRequest): Promise<bigint | undefined> => {
    const within = side === 'start' ? beforeOf(seconds) : behindOf(seconds);
    const stored = await readMasterchainBlocks(
      database,
      within,
      side === 'start' ? 'last' : 'first',
      MARGIN_BLOCKS,
    );
    const bound = boundOf(side, stored) ?? fitting(remembered.get(side), within);
    // At the head there is no block yet that lies far enough behind, and the server has little to look through.
    if (bound !== undefined || asking.priority === 'tail') return bound?.lt;
    const asked = boundOf(side, await ask(api, side, within, asking).catch(noneWhereUnknown));
    if (asked !== undefined) remembered.set(side, asked);
    return asked?.lt;
  };
  return {
    of: async (seconds, asking) => ({
      start: await find('start', seconds, asking),
      end: await find('end', seconds, asking),
    }),
  };
}

/** The seconds in which masterchain blocks bound others from below. */
function beforeOf({ from }: Range): Range {
  const to = from - MARGIN_SECONDS + 1;
  return { from: to - REACH_SECONDS, to };
}

/** The seconds in which masterchain blocks bound others from above. */
function behindOf({ to }: Range): Range {
  const from = to + MARGIN_SECONDS;
  return { from, to: from + REACH_SECONDS };
}

function fitting(bound: Bound | undefined, seconds: Range): Bound | undefined {
  return bound !== undefined && isInside(bound.utime, seconds) ? bound : undefined;
}

/** The widest of the blocks' bounds; undefined where there are too few of them. */
function boundOf(side: Side, blocks: readonly BoundingBlock[]): Bound | undefined {
  if (blocks.length < MARGIN_BLOCKS) return undefined;
  const seconds = blocks.map(({ gen_utime }) => gen_utime);
  const lts = blocks.map(({ start_lt, end_lt }) => (side === 'start' ? start_lt : end_lt));
  const widest = lts.reduce((one, other) => (one < other === (side === 'start') ? one : other));
  return { utime: side === 'start' ? Math.max(...seconds) : Math.min(...seconds), lt: widest };
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

async function ask(api: ApiClient, side: Side, { from, to }: Range, asking: BoundsRequest) {
  const window: Params =
    side === 'start' ? { end_utime: to - 1, sort: 'desc' } : { start_utime: from, sort: 'asc' };
  const { value } = await api.get({
    ...asking,
    path: '/api/v3/blocks',
    params: { workchain: MASTERCHAIN, ...window, limit: MARGIN_BLOCKS },
    parse: (body) => parseCanonical(Blocks, body).blocks,
  });
  return value.filter(({ gen_utime }) => (side === 'start' ? gen_utime < to : gen_utime >= from));
}

function noneWhereUnknown(error: unknown): BoundingBlock[] {
  if (error instanceof NoEndpointError || mayConcernPage(error)) return [];
  throw error;
}
