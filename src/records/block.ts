import { hash, optionalHash, seqno, shard, workchain } from './members/form.ts';
import { z } from 'zod';
import { orNull, type Extra } from '../dataset/record.ts';
import type { block_parents, blocks } from '../db/schema/ton/blocks.ts';
import { formatTime } from '../range.ts';
import { count, flag, int, requiredInt, requiredInt64, requiredSeconds } from './members/scalar.ts';

/** What names a block: workchain, shard (upper-case hex without padding) and sequence number. */
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
  gen_utime: requiredSeconds,
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
  masterchain_block_ref: blockId.nullish(),
  prev_blocks: z.array(blockId).nullish(),
});

export type Block = z.output<typeof block>;

type BlockRow = typeof blocks.$inferInsert;
type ParentRow = typeof block_parents.$inferInsert;

/** The rows of one block: its own, and one for each of its parents. */
export interface BlockRows {
  readonly blocks: readonly BlockRow[];
  readonly block_parents: readonly ParentRow[];
}

export function blockRows(record: Block, extra: Extra): BlockRows {
  return { blocks: [blockRow(record, extra)], block_parents: parentRows(record) };
}

function blockRow(record: Block, extra: Extra): BlockRow {
  const master = record.masterchain_block_ref;
  return {
    utime: formatTime(record.gen_utime),
    workchain: record.workchain,
    shard: record.shard,
    seqno: record.seqno,
    root_hash: record.root_hash,
    file_hash: record.file_hash,
    global_id: record.global_id,
    version: record.version,
    after_merge: record.after_merge,
    before_split: record.before_split,
    after_split: record.after_split,
    want_merge: record.want_merge,
    want_split: record.want_split,
    key_block: record.key_block,
    vert_seqno_incr: record.vert_seqno_incr,
    flags: record.flags,
    start_lt: record.start_lt,
    end_lt: record.end_lt,
    validator_list_hash_short: record.validator_list_hash_short,
    gen_catchain_seqno: record.gen_catchain_seqno,
    min_ref_mc_seqno: record.min_ref_mc_seqno,
    prev_key_block_seqno: record.prev_key_block_seqno,
    vert_seqno: record.vert_seqno,
    master_ref_seqno: record.master_ref_seqno,
    rand_seed: record.rand_seed,
    created_by: record.created_by,
    tx_count: record.tx_count,
    masterchain_block_ref_workchain: master?.workchain,
    masterchain_block_ref_shard: master?.shard,
    masterchain_block_ref_seqno: master?.seqno,
    extra: orNull(extra),
  };
}

function parentRows({ gen_utime, workchain, shard, seqno, prev_blocks }: Block): ParentRow[] {
  return (prev_blocks ?? []).map((parent, position) => ({
    utime: formatTime(gen_utime),
    workchain,
    shard,
    seqno,
    position,
    parent_workchain: parent.workchain,
    parent_shard: parent.shard,
    parent_seqno: parent.seqno,
  }));
}
