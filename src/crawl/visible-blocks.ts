import * as z from 'zod';
import type { ApiClient } from '../api/client.ts';
import type { Priority } from '../budget/priority.ts';
import { parseCanonical } from '../dataset/declaration/canonical.ts';
import type { Params } from '../dataset/paginators/paginator.ts';
import { ApiTimeoutError } from '../errors.ts';
import { blockKey } from '../ton/block-key.ts';
import { createPageSize, type PageSize } from './page-size.ts';
import { LinkedBlock, type BlockId } from './block-links.ts';

const PAGE = 1000;
/** About an hour of polls: a page that times out holds the watermark up. */
const PAGES_BEFORE_GROWTH = 500;
/** Several blocks of each shard. */
const NEWEST = 256;

export const Blocks = z.object({ blocks: z.array(LinkedBlock) });

/** What a request for blocks needs. */
export interface Asking {
  readonly api: ApiClient;
  readonly priority: Priority;
  readonly signal: AbortSignal;
}

/** The size of pages of blocks, shared by the requests of one reader. */
export function blocksPageSize(): PageSize {
  return createPageSize(PAGE, { pagesBeforeGrowth: PAGES_BEFORE_GROWTH });
}

interface BlocksPage {
  readonly blocks: readonly LinkedBlock[];
  readonly isFull: boolean;
}

/**
 * Visible blocks from a second on, ascending, page by page. Each page begins in the second in which the last
 * one ended, or after it if that second fills pages. Ends with an empty page.
 */
export async function* visibleBlocks(
  asking: Asking,
  {
    from,
    only = {},
    size = blocksPageSize(),
  }: { readonly from: number; readonly only?: Params; size?: PageSize },
): AsyncGenerator<BlocksPage, void> {
  for (let at = { second: from, offset: 0 }; ;) {
    const limit = size.current();
    const page = await pageFrom(asking, { ...only, start_utime: at.second, offset: at.offset, limit }, size);
    if (page === undefined) continue;
    if (page.blocks.length === 0) return;
    yield page;
    const last = page.blocks.at(-1)?.gen_utime ?? at.second;
    at = last === at.second ? { ...at, offset: at.offset + page.blocks.length } : { second: last, offset: 0 };
  }
}

/** One page; undefined if the server timed out and a smaller page may pass. */
async function pageFrom(
  asking: Asking,
  params: Params & { readonly limit: number },
  size: PageSize,
): Promise<BlocksPage | undefined> {
  try {
    const page = await askBlocks(asking, { ...params, sort: 'asc' });
    size.arrived();
    return { blocks: page.blocks, isFull: page.blocks.length >= (page.limit ?? params.limit) };
  } catch (error) {
    if (error instanceof ApiTimeoutError && size.timedOut(params.limit)) return undefined;
    throw error;
  }
}

async function askBlocks({ api, priority, signal }: Asking, params: Params) {
  const { value, request } = await api.get({
    path: '/api/v3/blocks',
    params,
    priority,
    signal,
    parse: (body) => parseCanonical(Blocks, body).blocks,
  });
  return { blocks: value, limit: request.limit };
}

/** The newest blocks before a second. */
export async function newestBefore(
  asking: Asking,
  second: number,
  only: Params = {},
): Promise<readonly LinkedBlock[]> {
  const params = { ...only, end_utime: second - 1, sort: 'desc', limit: NEWEST, offset: 0 };
  return (await askBlocks(asking, params)).blocks;
}

/** The block with this name; undefined if the source does not show it. */
export async function namedBlock(
  asking: Asking,
  { workchain, shard, seqno }: BlockId,
): Promise<LinkedBlock | undefined> {
  const params = { workchain, shard, seqno, sort: 'asc', limit: 2, offset: 0 };
  const { blocks } = await askBlocks(asking, params);
  return blocks.find((block) => blockKey(block) === blockKey({ workchain, shard, seqno }));
}
