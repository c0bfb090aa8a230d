import { canonicalOf } from '../../dataset/declaration/canonical.ts';
import { flag } from '../../records/members/scalar.ts';
import * as z from 'zod';
import type { ApiClient, GetRequest } from '../../api/client.ts';
import { ATTEMPTS_IN_DOUBT } from '../../crawl/failure-policy.ts';
import { LinkedBlock } from '../../crawl/block-links.ts';
import type { ChainInfo } from '../../crawl/chain-info.ts';
import { BadResponseError, isNotServed } from '../../errors.ts';
import { blockKey } from '../../ton/block-key.ts';
import type { Params } from '../../dataset/paginators/paginator.ts';

/** Rows of a page of blocks before or after a stretch: several blocks of each shard. */
const PAGE = 1000;
const PAGE_BEFORE = 256;

/** A block without parents would end every chain that reaches it, and the blocks below it would not be missed. */
const Linked = LinkedBlock.extend({ after_merge: flag });
const Block = Linked.refine(hasParents, { error: 'does not name the blocks before it' });

const Blocks = z.object({ blocks: z.array(z.unknown()) });

/** A block that does not fit the chain proves nothing, so it is left out. A stored one is in quarantine. */
function fittingOf(blocks: readonly unknown[]): z.output<typeof Block>[] {
  return blocks.flatMap((block) => Block.safeParse(canonicalOf(Block, block)).data ?? []);
}

function hasParents({ workchain, seqno, after_merge, prev_blocks }: z.output<typeof Linked>): boolean {
  const parents = prev_blocks ?? [];
  return (
    seqno === 0 ||
    (parents.length >= (after_merge === true ? 2 : 1) &&
      parents.every((parent) => parent.workchain === workchain) &&
      Math.max(...parents.map((parent) => parent.seqno)) === seqno - 1)
  );
}

/** The requests of verification: a few blocks around a stretch, and the shards of a moment. */
export interface BlocksOfSource {
  readonly chain: ChainInfo;
  readonly requests: () => number;
  /** The first visible blocks from a second on, ascending; `whole` if there are no later ones. */
  after(second: number): Promise<{ readonly blocks: readonly LinkedBlock[]; readonly whole: boolean }>;
  before(second: number): Promise<readonly LinkedBlock[]>;
  /** The top blocks of all shards as a masterchain block saw them. Undefined if it does not exist or is not served. */
  topsOf(seqno: number): Promise<readonly LinkedBlock[] | undefined>;
  /** The block with this key; undefined if the source has none. */
  named(block: Pick<LinkedBlock, 'workchain' | 'shard' | 'seqno'>): Promise<LinkedBlock | undefined>;
}

interface BlocksRead {
  readonly blocks: readonly LinkedBlock[];
  /** Includes those that do not fit. */
  readonly rows: number;
}

/** If the server fails for some block, it asks for fewer, in the end for none, and less is proved. */
async function askWithin(api: ApiClient, request: GetRequest<BlocksRead>): Promise<AskedBlocks> {
  try {
    return await api.get(request);
  } catch (error) {
    const { limit } = request.params ?? {};
    if (!isNotServed(error) || typeof limit !== 'number') throw error;
    if (limit <= 2) return { value: { blocks: [], rows: limit }, request: { limit } };
    const params = { ...request.params, limit: Math.floor(limit / 4) + 1 };
    return askWithin(api, { ...request, params, attemptsInDoubt: ATTEMPTS_IN_DOUBT });
  }
}

interface AskedBlocks {
  readonly value: BlocksRead;
  readonly request: { readonly limit: number | undefined };
}

/** Asks with the priority of repairs: verified seconds are older than the tail, and come before any backfill. */
export function createBlockSource(api: ApiClient, chain: ChainInfo, signal: AbortSignal): BlocksOfSource {
  let requests = 0;
  const ask = async (path: string, params: Params, isAsked: (block: LinkedBlock) => boolean = () => true) => {
    requests += 1;
    const { value, request } = await askWithin(api, {
      path,
      params,
      signal,
      priority: 'repair',
      parse: (body) => {
        const raw = Blocks.parse(body).blocks;
        const blocks = fittingOf(raw);
        const other = blocks.find((block) => !isAsked(block));
        if (other === undefined) return { blocks, rows: raw.length };
        throw new BadResponseError(`the response contains block ${blockKey(other)}, which was not requested`);
      },
    });
    return { ...value, limit: request.limit };
  };
  return {
    chain,
    requests: () => requests,
    async after(second) {
      const params = { start_utime: second, sort: 'asc', limit: PAGE, offset: 0 };
      const isAfter = ({ gen_utime }: LinkedBlock) => gen_utime >= second;
      const { blocks, rows, limit = PAGE } = await ask('/api/v3/blocks', params, isAfter);
      return { blocks, whole: rows < limit };
    },
    async before(second) {
      const params = { end_utime: second - 1, sort: 'desc', limit: PAGE_BEFORE, offset: 0 };
      return (await ask('/api/v3/blocks', params, ({ gen_utime }) => gen_utime < second)).blocks;
    },
    async topsOf(seqno) {
      try {
        return (await ask('/api/v3/masterchainBlockShardState', { seqno })).blocks;
      } catch (error) {
        // Another masterchain block may serve. If none does, less is proved.
        if (isNotServed(error)) return undefined;
        throw error;
      }
    },
    async named({ workchain, shard, seqno }) {
      const params = { workchain, shard, seqno, sort: 'asc', limit: 2, offset: 0 };
      const { blocks } = await ask('/api/v3/blocks', params);
      return blocks.find((block) => blockKey(block) === blockKey({ workchain, shard, seqno }));
    },
  };
}
