import { z } from 'zod';
import { blockId } from './block-id.ts';
import { count, flag, int, requiredInt, requiredInt64, requiredSeconds, text } from './scalar.ts';

/** One element of `blocks` of GET /api/v3/blocks, and `first` and `last` of masterchainInfo. */
export const block = z.strictObject({
  workchain: requiredInt,
  shard: z.string(),
  seqno: requiredInt,
  root_hash: z.string(),
  file_hash: z.string(),
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
  rand_seed: text,
  created_by: text,
  tx_count: requiredInt,
  masterchain_block_ref: blockId.nullish(),
  prev_blocks: z.array(blockId).nullish(),
});

export type Block = z.output<typeof block>;
