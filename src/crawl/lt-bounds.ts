import * as z from 'zod';
import { parseCanonical } from '../dataset/declaration/record.ts';
import { workchain } from '../records/members/form.ts';
import type { ApiClient } from '../api/client.ts';
import type { Priority } from '../budget/request-budget.ts';
import type { Params } from '../dataset/paginators/paginator.ts';
import type { Session } from '../postgres/database.ts';
import { readMasterchainBlocks, type BoundingBlock } from '../read/bounding-blocks.ts';
import { mayConcernPage, NoEndpointError } from '../errors.ts';
import { type Range, isInside } from '../range.ts';
import { MASTERCHAIN } from '../ton/shard.ts';

/**
 * A shard block refers to a masterchain block that is slightly older, and is registered by one that is
 * slightly younger.
 */
const MARGIN_SECONDS = 60;
/** Additional masterchain blocks, in case the masterchain stalled. No single block is trusted. */
const MARGIN_BLOCKS = 16;
/** Blocks farther away bound the same seconds, but make the server scan more. */
const BOUND_WINDOW_SECONDS = 300;

interface BoundsRequest {
  readonly priority: Priority;
  readonly signal: AbortSignal;
}

/** Logical times between which all rows of some seconds lie; undefined is unbounded. */
export interface LtRange {
  readonly start: bigint | undefined;
  readonly end: bigint | undefined;
}

export type LtBounds = ReturnType<typeof createLtBounds>;

/** The time of a masterchain block, and the logical time that it bounds. */
interface Bound {
  readonly utime: number;
  readonly lt: bigint;
}

type Side = 'start' | 'end';

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
    // At the head no block lies far enough after the seconds yet, and the server has little to scan.
    if (bound !== undefined || asking.priority === 'tail') return bound?.lt;
    const asked = boundOf(side, await ask(api, side, within, asking).catch(noneWhereUnknown));
    if (asked !== undefined) remembered.set(side, asked);
    return asked?.lt;
  };
  return {
    of: async (seconds: Range, asking: BoundsRequest): Promise<LtRange> => ({
      start: await find('start', seconds, asking),
      end: await find('end', seconds, asking),
    }),
  };
}

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

function fitting(bound: Bound | undefined, seconds: Range): Bound | undefined {
  return bound !== undefined && isInside(bound.utime, seconds) ? bound : undefined;
}

/** The widest bound of the blocks; undefined if there are too few. */
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
