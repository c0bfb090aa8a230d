import * as z from 'zod';
import {
  hash,
  optionalHash,
  seqno,
  shard,
  workchain,
  count,
  flag,
  int,
  requiredInt,
  requiredInt64,
  requiredSeconds,
  timeOf,
} from './members.ts';
import {
  column,
  elsewhere,
  spread,
  rowLayoutOf,
  type Put,
  type Extra,
} from '../dataset/declaration/record.ts';
import { block_parents, blocks } from '../tables/ton/blocks.ts';
import { blockKey, isPlaced, misplacedBlocks } from '../ton/shard.ts';
import type { Joins, Predecessor } from '../dataset/paginators/paginator.ts';

const id = { workchain: requiredInt, shard: z.string(), seqno: requiredInt };

/** The members of a block that tell its position in the chain. */
const Linked = z.object({
  ...id,
  gen_utime: requiredSeconds,
  before_split: z.boolean().nullish().catch(null),
  after_split: z.boolean().nullish().catch(null),
  prev_blocks: z.array(z.object(id)).nullish(),
});

type BlockLinks = z.output<typeof Linked>;

/**
 * How far a page of blocks proves by itself that nothing is missing, for servers that may cut a 200 short or lack some
 * blocks. Every block has a successor, two before a split. A block whose successors are not all in the page is *open*,
 * and blocks after it may be missing. All seconds before the first open block are joined. An open block has a *gap*
 * after it if a later block of its shard is in the page, before the page's last second: its successors lie between the
 * two.
 *
 * The page does not show that the first blocks of a chain are missing. So `before` names the parents that the page
 * lacks, and the reader can look them up. An empty page proves nothing: it is joined until 0. Undefined if a block does
 * not tell its links: it would look like a missing one forever.
 */
export function joinsOf(raws: readonly unknown[]): Joins | undefined {
  const read = Linked.array().safeParse(raws);
  if (!read.success) return undefined;
  const blocks = read.data;
  const children = new Map<string, Set<string>>();
  const misplaced = misplacedBlocks(blocks);
  for (const block of blocks) {
    for (const parent of block.prev_blocks ?? []) {
      const key = blockKey(misplaced.get(blockKey(parent)) ?? parent);
      children.set(key, (children.get(key) ?? new Set()).add(blockKey(block)));
    }
  }
  const open = blocks.filter((block) => {
    const successors = children.get(blockKey(block))?.size ?? 0;
    return successors < (block.before_split === true ? 2 : 1);
  });
  const gapAt = earliest(gapsOf(open, blocks));
  const before = predecessorsOf(blocks).filter((parent) => !misplaced.has(blockKey(parent)));
  const indexes = blocks.flatMap((block, index) => (isPlaced(block) ? [] : [index]));
  return { until: earliest(open) ?? 0, ...(gapAt !== undefined && { gapAt }), before, misplaced: indexes };
}

/** Parents that are not in the page, each with the time of the first block that names it. Block 0 is in no index. */
function predecessorsOf(blocks: readonly BlockLinks[]): Predecessor[] {
  const here = new Set(blocks.map(blockKey));
  const before = new Map<string, Predecessor>();
  for (const { gen_utime, prev_blocks } of blocks) {
    for (const parent of prev_blocks ?? []) {
      const key = blockKey(parent);
      if (parent.seqno === 0 || here.has(key)) continue;
      const namedAt = Math.min(Number(gen_utime), before.get(key)?.namedAt ?? Infinity);
      before.set(key, { ...parent, namedAt });
    }
  }
  return [...before.values()];
}

/** Open blocks that cannot be the ends of their chains. */
function gapsOf(open: readonly BlockLinks[], blocks: readonly BlockLinks[]): BlockLinks[] {
  const end = Number(blocks.at(-1)?.gen_utime ?? 0);
  const latest = new Map<string, number>();
  for (const block of blocks) {
    if (Number(block.gen_utime) >= end) continue;
    const shard = shardOf(block);
    latest.set(shard, Math.max(latest.get(shard) ?? 0, block.seqno));
  }
  return open.filter((block) => block.seqno < (latest.get(shardOf(block)) ?? 0));
}

function shardOf({ workchain, shard }: BlockLinks): string {
  return `${workchain}:${shard}`;
}

function earliest(blocks: readonly BlockLinks[]): number | undefined {
  const times = blocks.map(({ gen_utime }) => Number(gen_utime));
  return times.length === 0 ? undefined : times.reduce((first, time) => Math.min(first, time));
}

/** Identifies a block: workchain, shard (upper-case hex without padding) and sequence number. */
export const blockId = z.strictObject({ workchain, shard, seqno });

/** One element of `blocks` of GET /api/v3/blocks, and `first` and `last` of masterchainInfo. */
export const block = z.strictObject({
  workchain,
  shard,
  seqno,
  root_hash: hash,
  file_hash: hash,
  global_id: int,
  version: count,
  after_merge: flag,
  before_split: flag,
  after_split: flag,
  want_merge: flag,
  want_split: flag,
  key_block: flag,
  vert_seqno_incr: flag,
  flags: int,
  gen_utime: column('utime', requiredSeconds),
  start_lt: requiredInt64,
  end_lt: requiredInt64,
  validator_list_hash_short: int,
  gen_catchain_seqno: int,
  min_ref_mc_seqno: int,
  prev_key_block_seqno: int,
  vert_seqno: int,
  master_ref_seqno: int,
  rand_seed: optionalHash,
  created_by: optionalHash,
  tx_count: requiredInt,
  masterchain_block_ref: spread('masterchain_block_ref_', blockId.nullish()),
  prev_blocks: elsewhere(z.array(blockId).nullish()),
});

/** A parent, with the column names of its child's row. */
const parentId = z.strictObject({
  workchain: column('parent_workchain', workchain),
  shard: column('parent_shard', shard),
  seqno: column('parent_seqno', seqno),
});

export type Block = z.output<typeof block>;

const rowLayout = rowLayoutOf(blocks, block);
const parents = rowLayoutOf(block_parents, parentId);

/** Puts the rows of one block: its own, and one for each of its parents. */
export function blockRows(record: Block, extra: Extra, put: Put): void {
  put(rowLayout, record, {}, extra);
  const { gen_utime, workchain, shard, seqno } = record;
  for (const [position, parent] of (record.prev_blocks ?? []).entries()) {
    put(parents, parent, { utime: timeOf(gen_utime), workchain, shard, seqno, position });
  }
}
