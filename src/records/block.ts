import { hash, optionalHash, seqno, shard, workchain } from './members/form.ts';
import * as z from 'zod';
import { column, elsewhere, spread } from '../dataset/declaration/column-mapping.ts';
import { rowLayoutOf, type Put } from '../dataset/declaration/row-layout.ts';
import type { Extra } from '../dataset/declaration/record.ts';
import { block_parents, blocks } from '../tables/ton/blocks.ts';
import { count, flag, int, requiredInt, requiredInt64, requiredSeconds, timeOf } from './members/scalar.ts';

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
