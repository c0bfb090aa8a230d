import { z } from 'zod';
import type { ApiClient } from '../../api/client.ts';
import { LinkedBlock } from '../../crawl/watermark/block-links.ts';
import type { ChainInfo } from '../../crawl/watermark/chain-info.ts';
import { NotFoundError } from '../../errors.ts';
import type { Params } from '../../dataset/paginator.ts';

/** Rows of a page of blocks before or after a stretch: several blocks of each shard. */
const PAGE = 1000;
const PAGE_BEFORE = 256;

const Blocks = z.object({ blocks: z.array(LinkedBlock) });

/** What verification asks of the API: a few blocks around a stretch, and which shards there were. */
export interface BlocksOfSource {
  readonly chain: ChainInfo;
  /** Requests made so far. */
  readonly requests: () => number;
  /** The first visible blocks from a second on, ascending; `whole` where there are no later ones. */
  after(second: number): Promise<{ readonly blocks: readonly LinkedBlock[]; readonly whole: boolean }>;
  /** The last blocks before a second. */
  before(second: number): Promise<readonly LinkedBlock[]>;
  /** The blocks at the top of all shards as a masterchain block saw them; undefined where it is not there. */
  topsOf(seqno: number): Promise<readonly LinkedBlock[] | undefined>;
  /** The block with this name; undefined where the source has none. */
  named(block: Pick<LinkedBlock, 'workchain' | 'shard' | 'seqno'>): Promise<LinkedBlock | undefined>;
}

/** Asks with the priority of repairs: what is verified is older than the tail, and comes before any backfill. */
export function createBlockSource(api: ApiClient, chain: ChainInfo, signal: AbortSignal): BlocksOfSource {
  let requests = 0;
  const ask = async (path: string, params: Params) => {
    requests += 1;
    const { value, request } = await api.get({
      path,
      params,
      signal,
      priority: 'repair',
      parse: (body) => Blocks.parse(body).blocks,
    });
    return { blocks: value, limit: request.limit };
  };
  return {
    chain,
    requests: () => requests,
    async after(second) {
      const { blocks, limit = PAGE } = await ask('/api/v3/blocks', {
        start_utime: second,
        sort: 'asc',
        limit: PAGE,
        offset: 0,
      });
      return { blocks, whole: blocks.length < limit };
    },
    async before(second) {
      const params = { end_utime: second - 1, sort: 'desc', limit: PAGE_BEFORE, offset: 0 };
      return (await ask('/api/v3/blocks', params)).blocks;
    },
    async topsOf(seqno) {
      try {
        return (await ask('/api/v3/masterchainBlockShardState', { seqno })).blocks;
      } catch (error) {
        if (error instanceof NotFoundError) return undefined;
        throw error;
      }
    },
    async named({ workchain, shard, seqno }) {
      const { blocks: found } = await ask('/api/v3/blocks', {
        workchain,
        shard,
        seqno,
        sort: 'asc',
        limit: 2,
        offset: 0,
      });
      return found.find((block) => block.shard === shard && block.seqno === seqno);
    },
  };
}
