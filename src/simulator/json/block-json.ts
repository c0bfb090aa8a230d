import { BLOCK, NONE, SHARD_TEXTS } from '../network/chain/tables/block-table.ts';
import type { World } from '../network/chain/world.ts';
import { mix32 } from '../random.ts';

export interface BlockIdJson {
  readonly workchain: number;
  readonly shard: string;
  readonly seqno: number;
}

/** A block as v3 prints it. */
export interface BlockJson extends BlockIdJson {
  readonly root_hash: string;
  readonly file_hash: string;
  readonly global_id: number;
  readonly version: number;
  readonly after_merge: boolean;
  readonly before_split: boolean;
  readonly after_split: boolean;
  readonly want_merge: boolean;
  readonly want_split: boolean;
  readonly key_block: boolean;
  readonly vert_seqno_incr: boolean;
  readonly flags: number;
  readonly gen_utime: string;
  readonly start_lt: string;
  readonly end_lt: string;
  readonly validator_list_hash_short: number;
  readonly gen_catchain_seqno: number;
  readonly min_ref_mc_seqno: number;
  readonly prev_key_block_seqno: number;
  readonly vert_seqno: number;
  readonly master_ref_seqno: number;
  readonly rand_seed: string;
  readonly created_by: string;
  readonly tx_count: number;
  readonly masterchain_block_ref: BlockIdJson;
  readonly prev_blocks: readonly BlockIdJson[];
}

export const MASTERCHAIN_SHARD = '8000000000000000';

export function blockId(world: World, block: number): BlockIdJson {
  const shard = world.blocks.shard.get(block);
  return {
    workchain: shard === 0 ? -1 : 0,
    shard: SHARD_TEXTS[shard] ?? MASTERCHAIN_SHARD,
    seqno: world.blocks.seqno.get(block),
  };
}

/** The parents: two after a merge; before the first block the one that was never indexed. */
function parentsOf(world: World, block: number): BlockIdJson[] {
  const parents = [world.blocks.left.get(block), world.blocks.right.get(block)].filter(
    (parent) => parent !== NONE,
  );
  if (parents.length > 0) return parents.map((parent) => blockId(world, parent));
  const id = blockId(world, block);
  return [{ ...id, seqno: id.seqno - 1 }];
}

/** The JSON of a block that a masterchain block has registered. */
export function blockJson(world: World, block: number): BlockJson {
  const { blocks, options } = world;
  const flags = blocks.flags.get(block);
  const id = blockId(world, block);
  const mcSeqno = world.seqnoOfTick(blocks.tick.get(block));
  const session = Math.floor(mcSeqno / 400);
  return {
    // No spread: in Node 20, a literal that begins with a spread takes fifty times as long to fill.
    workchain: id.workchain,
    shard: id.shard,
    seqno: id.seqno,
    root_hash: world.hashes('root').text(block),
    file_hash: world.hashes('file').text(block),
    global_id: options.globalId,
    version: 0,
    after_merge: (flags & BLOCK.afterMerge) !== 0,
    before_split: (flags & BLOCK.beforeSplit) !== 0,
    after_split: (flags & BLOCK.afterSplit) !== 0,
    want_merge: (flags & BLOCK.wantMerge) !== 0,
    want_split: (flags & BLOCK.wantSplit) !== 0,
    key_block: (flags & BLOCK.key) !== 0,
    vert_seqno_incr: false,
    flags: 1,
    gen_utime: String(blocks.utime.get(block)),
    start_lt: String(blocks.startLt.get(block)),
    end_lt: String(blocks.endLt.get(block)),
    validator_list_hash_short: mix32(session) | 0,
    gen_catchain_seqno: session,
    min_ref_mc_seqno: Math.max(options.firstSeqno, mcSeqno - 4),
    prev_key_block_seqno: Math.floor((mcSeqno - 1) / 1000) * 1000,
    vert_seqno: 0,
    master_ref_seqno: id.workchain === -1 ? 0 : mcSeqno - 1,
    rand_seed: world.hashes('rand').text(block),
    created_by: world.hashes('validator').text(mix32(block) % 100),
    tx_count: blocks.transactions.get(block),
    masterchain_block_ref: { workchain: -1, shard: MASTERCHAIN_SHARD, seqno: mcSeqno },
    prev_blocks: parentsOf(world, block),
  };
}
