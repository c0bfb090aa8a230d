import * as z from 'zod';
import type { ApiClient } from '../api/client.ts';
import type { Priority } from '../budget/request-budget.ts';
import { parseCanonical } from '../dataset/declaration/record.ts';
import type { Params } from '../dataset/paginators/paginator.ts';
import { ApiTimeoutError, NoEndpointError, NoIndexError, NotFoundError } from '../errors.ts';
import {
  blockKey,
  misplacedBlocks,
  isOfMasterchain,
  MASTERCHAIN,
  MASTERCHAIN_SHARD,
  overlaps,
} from '../ton/shard.ts';
import { createPageSize, type PageSize } from './request-bounds.ts';
import { hash, shard, seqno, requiredInt } from '../records/members.ts';

/* The chain as the source shows it: the ends of its index, visible blocks, and the links between them. */

const End = z.object({
  seqno,
  gen_utime: z.coerce.number(),
  global_id: requiredInt,
  root_hash: hash.nullish().catch(undefined),
});
const MasterchainInfo = z.object({ last: End, first: End });

/** What the API's index holds. */
export interface ChainInfo {
  readonly globalId: number;
  /** The first masterchain block that the index knows. Nothing before it can be read. */
  readonly first: { readonly seqno: number; readonly utime: number; readonly rootHash?: string | undefined };
  /** The newest visible masterchain block. Blocks before it may still be missing. */
  readonly last: { readonly seqno: number; readonly utime: number };
}

/** @throws NoIndexError if the server has no such endpoint */
export async function readChainInfo(api: ApiClient, signal: AbortSignal): Promise<ChainInfo> {
  const parse = (body: unknown) => parseCanonical(MasterchainInfo, body);
  const path = '/api/v3/masterchainInfo';
  const { value } = await api.get({ path, params: {}, priority: 'tail', signal, parse }).catch(refuseOther);
  return {
    globalId: value.last.global_id,
    first: {
      seqno: value.first.seqno,
      utime: value.first.gen_utime,
      rootHash: value.first.root_hash ?? undefined,
    },
    last: { seqno: value.last.seqno, utime: value.last.gen_utime },
  };
}

function refuseOther(error: unknown): never {
  if (!(error instanceof NotFoundError || error instanceof NoEndpointError)) throw error;
  throw new NoIndexError(error.message, {
    cause: error,
    hint: 'Check TONCENTER_NETWORK: the server there is no TON Center API. A base URL ends before /api/v3.',
  });
}

/** True if the server still answers that it has no such endpoint. Sends one request, whatever was known before. */
export async function lacksEndpoint(api: ApiClient, path: string, signal: AbortSignal): Promise<boolean> {
  api.recheck(path);
  try {
    await api.get({
      path,
      params: { limit: 1 },
      priority: 'backfill',
      attemptsInDoubt: 1,
      signal,
      parse: () => true,
    });
    return false;
  } catch (error) {
    return error instanceof NoEndpointError;
  }
}

export const BlockId = z.object({ workchain: requiredInt, shard, seqno: requiredInt });

/** The members of a block that place it in the chain; the dataset itself reads the rest. */
export const LinkedBlock = BlockId.extend({
  gen_utime: z.coerce.number(),
  prev_blocks: z.array(BlockId).nullish(),
  root_hash: hash.nullish().catch(undefined),
  after_split: z.boolean().nullish().catch(undefined),
});

export type LinkedBlock = z.infer<typeof LinkedBlock>;
export type BlockId = z.infer<typeof BlockId>;

/** A parent that a block names and that is missing. */
export interface BrokenLink {
  readonly missing: BlockId;
  readonly child: LinkedBlock;
  /** The newest known block below the missing one in its chain; undefined if none is known. */
  readonly lower: LinkedBlock | undefined;
}

/**
 * The highest seqno up to which masterchain blocks follow each other from `start` without a break. Blocks
 * between `start` and a parent in `lost` are skipped: the source does not have them. So is a block under a wrong name.
 */
export function contiguousFrom(
  start: number,
  blocks: readonly LinkedBlock[],
  lost: ReadonlySet<string> = new Set(),
): number {
  const misplaced = misplacedBlocks(blocks);
  let last = start;
  for (const seqno of masterchainSeqnos(blocks).toSorted((a, b) => a - b)) {
    if (seqno <= last) continue;
    let next = last + 1;
    while (next < seqno && misplaced.has(blockKey(masterchainId(next)))) next += 1;
    if (next < seqno && !lost.has(blockKey(masterchainId(seqno - 1)))) break;
    last = seqno;
  }
  return last;
}

/** The seqnos of blocks of the masterchain, without blocks that only claim its workchain. */
export function masterchainSeqnos(blocks: readonly LinkedBlock[]): number[] {
  return blocks.filter(isOfMasterchain).map(({ seqno }) => seqno);
}

export function masterchainId(seqno: number): BlockId {
  return { workchain: MASTERCHAIN, shard: MASTERCHAIN_SHARD, seqno };
}

/** Every parent that a known block names, but that is not known itself, under its own name or under a wrong one. */
export function brokenLinks(known: ReadonlyMap<string, LinkedBlock>): BrokenLink[] {
  const misplaced = misplacedBlocks([...known.values()]);
  return [...known.values()].flatMap((child) =>
    (child.prev_blocks ?? [])
      .filter(
        (parent) => parent.seqno > 0 && !known.has(blockKey(parent)) && !misplaced.has(blockKey(parent)),
      )
      .map((missing) => ({ missing, child, lower: newestBelow(missing, known) })),
  );
}

/**
 * The first unknown block on the way down from `tops` by prev_blocks; undefined if everything down to the
 * `complete` blocks is known. Blocks in `lost` are skipped. If none is complete yet, a chain may end with
 * its oldest known block.
 */
export function firstMissing(
  tops: readonly LinkedBlock[],
  known: ReadonlyMap<string, LinkedBlock>,
  complete: ReadonlySet<string>,
  lost: ReadonlySet<string> = new Set(),
): string | undefined {
  const seen = new Set<string>();
  const misplaced = misplacedBlocks([...known.values()]);
  const stack: BlockId[] = [...tops];
  for (let id = stack.pop(); id !== undefined; id = stack.pop()) {
    const key = blockKey(id);
    if (seen.has(key) || complete.has(key) || lost.has(key) || id.seqno === 0) continue;
    seen.add(key);
    const block = known.get(key) ?? misplaced.get(key);
    if (block !== undefined) stack.push(...(block.prev_blocks ?? []));
    else if (complete.size > 0 || newestBelow(id, known) !== undefined) return key;
  }
  return undefined;
}

/** The newest known block below another one in its chain. */
export function newestBelow(id: BlockId, known: ReadonlyMap<string, LinkedBlock>): LinkedBlock | undefined {
  let newest: LinkedBlock | undefined;
  for (const block of known.values()) {
    if (block.workchain !== id.workchain || block.seqno >= id.seqno || !overlaps(block.shard, id.shard))
      continue;
    if (newest === undefined || block.gen_utime > newest.gen_utime) newest = block;
  }
  return newest;
}

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
  return createPageSize(PAGE, PAGES_BEFORE_GROWTH);
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
