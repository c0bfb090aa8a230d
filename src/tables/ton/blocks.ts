import { bigint, boolean, index, integer, jsonb, primaryKey, text } from 'drizzle-orm/pg-core';
import { hash, int8, loadedAt, utime, describe, ton, moment, restColumns } from '../describe.ts';

export const masterchain_heads = ton.table(
  'masterchain_heads',
  {
    taken_at: moment().notNull(),
    source: text().notNull(),
    seqno: integer().notNull(),
    root_hash: hash().notNull(),
    file_hash: hash().notNull(),
    head_utime: moment(),
    state_root_hash: hash(),
    init_seqno: integer(),
    init_root_hash: hash(),
    init_file_hash: hash(),
    first_seqno: integer(),
    ...restColumns(),
  },
  (t) => [primaryKey({ columns: [t.taken_at, t.source] })],
);

describe(masterchain_heads, {
  comment:
    'The newest masterchain block, sampled: as the nodes have it (v2) and as the index has it (v3), a row each. How far the index lags is in masterchain_lag.',
  from: 'last.* of masterchainInfo',
  columns: {
    taken_at: 'When the sample was taken, wall time, UTC, written by the program.',
    source:
      'One of node (getMasterchainInfo of v2) and index (masterchainInfo of v3), written by the program.',
    seqno: 'Number of the newest masterchain block.',
    root_hash: 'Root hash of the newest masterchain block, base64.',
    file_hash: 'File hash of the newest masterchain block, base64.',
    head_utime:
      'Block time, UTC, of the newest masterchain block; null for nodes, which do not tell it. From last.gen_utime of masterchainInfo.',
    state_root_hash:
      'Root hash of the state, base64; null for the index. From result.state_root_hash of getMasterchainInfo.',
    init_seqno:
      "Number of the network's first block, 0; null for the index. From result.init.seqno of getMasterchainInfo.",
    init_root_hash:
      "Root hash of the network's first block, base64; null for the index. From result.init.root_hash of getMasterchainInfo.",
    init_file_hash:
      "File hash of the network's first block, base64; null for the index. From result.init.file_hash of getMasterchainInfo.",
    first_seqno:
      'Oldest masterchain block of the index; null for nodes. From first.seqno of masterchainInfo.',
    extra:
      'Members of either response that this version of the program has no column for; null if there are none.',
  },
  conflict: { kind: 'keep' },
});

export const shard_block_proofs = ton.table(
  'shard_block_proofs',
  {
    workchain: integer().notNull(),
    shard: text().notNull(),
    seqno: integer().notNull(),
    from_seqno: integer().notNull(),
    from_root_hash: hash().notNull(),
    from_file_hash: hash().notNull(),
    mc_seqno: integer().notNull(),
    mc_root_hash: hash().notNull(),
    mc_file_hash: hash().notNull(),
    links: jsonb().notNull(),
    mc_proof: jsonb().notNull(),
    ...restColumns(),
  },
  (t) => [primaryKey({ columns: [t.workchain, t.shard, t.seqno] })],
);

describe(shard_block_proofs, {
  comment:
    'Merkle proofs that a block belongs to the chain, one row for each block that was asked about. A proof leads from it to the masterchain block that registered it, and from there to one that is trusted.',
  from: 'result.* of getShardBlockProof',
  columns: {
    workchain:
      'Workchain of the block that is proved. The request of getShardBlockProof, written by the program.',
    shard:
      'Shard of the block that is proved, upper-case hex without padding. The request of getShardBlockProof, written by the program.',
    seqno:
      'Number of the block that is proved, in its shard. The request of getShardBlockProof, written by the program.',
    from_seqno:
      'Masterchain block from which the proof begins, the newest one when it was asked for. From result.from.seqno of getShardBlockProof.',
    from_root_hash:
      'Root hash of the masterchain block from which the proof begins, base64. From result.from.root_hash of getShardBlockProof.',
    from_file_hash:
      'File hash of the masterchain block from which the proof begins, base64. From result.from.file_hash of getShardBlockProof.',
    mc_seqno: 'Masterchain block that registered the block. From result.mc_id.seqno of getShardBlockProof.',
    mc_root_hash:
      'Root hash of the masterchain block that registered it, base64. From result.mc_id.root_hash of getShardBlockProof.',
    mc_file_hash:
      'File hash of the masterchain block that registered it, base64. From result.mc_id.file_hash of getShardBlockProof.',
    links:
      'Proofs from the masterchain block down to the block, an array of block id and proof (a bag of cells, base64).',
    mc_proof: 'Proofs between masterchain blocks, an array of two block ids and three bags of cells each.',
    extra:
      'Members of the result of getShardBlockProof that this version of the program has no column for; null if there are none.',
  },
  conflict: { kind: 'replace' },
});

export const shard_states = ton.table(
  'shard_states',
  {
    utime: utime(),
    mc_seqno: integer().notNull(),
    workchain: integer().notNull(),
    shard: text().notNull(),
    seqno: integer().notNull(),
    loaded_at: loadedAt(),
  },
  (t) => [primaryKey({ columns: [t.utime, t.mc_seqno, t.workchain, t.shard] })],
);

describe(shard_states, {
  comment:
    'Which blocks were the tops of all shards as a masterchain block saw them: one row for each shard of each masterchain block, itself among them. The blocks are rows of blocks.',
  from: 'blocks[].* of the response',
  columns: {
    utime:
      'Block time, UTC, of the masterchain block that was asked about. From blocks[].gen_utime of the response’s masterchain block.',
    mc_seqno:
      'Number of the masterchain block that was asked about. The seqno of the request, written by the program.',
    workchain: 'Workchain of the top, -1 for the masterchain block itself.',
    shard: 'Shard of the top, upper-case hex without padding.',
    seqno: 'Number of the top in its shard: a block that an earlier masterchain block may have registered.',
  },
  conflict: { kind: 'keep' },
  partitioned: true,
});

export const blocks = ton.table(
  'blocks',
  {
    utime: utime(),
    workchain: integer().notNull(),
    shard: text().notNull(),
    seqno: integer().notNull(),
    root_hash: hash().notNull(),
    file_hash: hash().notNull(),
    global_id: integer(),
    version: bigint({ mode: 'number' }),
    after_merge: boolean(),
    before_split: boolean(),
    after_split: boolean(),
    want_merge: boolean(),
    want_split: boolean(),
    key_block: boolean(),
    vert_seqno_incr: boolean(),
    flags: integer(),
    start_lt: int8().notNull(),
    end_lt: int8().notNull(),
    validator_list_hash_short: integer(),
    gen_catchain_seqno: integer(),
    min_ref_mc_seqno: integer(),
    prev_key_block_seqno: integer(),
    vert_seqno: integer(),
    master_ref_seqno: integer(),
    rand_seed: hash(),
    created_by: text(),
    tx_count: integer().notNull(),
    masterchain_block_ref_workchain: integer(),
    masterchain_block_ref_shard: text(),
    masterchain_block_ref_seqno: integer(),
    ...restColumns(),
  },
  (t) => [
    primaryKey({ columns: [t.utime, t.workchain, t.shard, t.seqno] }),
    // Children and transactions refer to a block without its time.
    index('blocks_id').on(t.workchain, t.shard, t.seqno),
  ],
);

describe(blocks, {
  comment:
    'Blocks of the masterchain (workchain -1) and of all shards, one row a block. Read from GET /api/v3/blocks; a row never changes.',
  from: { '': 'blocks[].*', masterchain_block_ref_: 'blocks[].masterchain_block_ref.*' },
  columns: {
    utime: 'Block time, UTC, to the second: when the block was generated. From blocks[].gen_utime.',
    workchain:
      'Workchain of the block: -1 is the masterchain, 0 the basechain, where nearly all accounts live.',
    shard:
      'Shard of the block, upper-case hex without padding: 8000000000000000 is a whole workchain, its highest bits are the prefix of the accounts in it.',
    seqno:
      'Number of the block in its shard, from 1; after a split or a merge counting goes on from the larger parent.',
    root_hash: "Hash of the block's root cell, base64: the block's identity.",
    file_hash: "Hash of the block's serialized file, base64.",
    global_id: 'Number of the network: -239 is mainnet, -3 testnet; null if an older server leaves it out.',
    version: 'Version of the block format, 0 so far; null if an older server leaves it out.',
    after_merge: 'True if the block follows a merge of two shards, so that it has two parents.',
    before_split: 'True if the block is the last one before its shard splits, so that it has two children.',
    after_split: 'True if the block is the first one of a shard that came out of a split.',
    want_merge: 'True if the validators want to merge this shard with its sibling.',
    want_split: 'True if the validators want to split this shard, because its blocks are full.',
    key_block: 'True for a masterchain block that changes the configuration or the validator set.',
    vert_seqno_incr:
      'True if the block starts a new vertical chain, that is, corrects history; false in practice.',
    flags: "Bits of the block header's flags; bit 0: software version is given.",
    start_lt: 'Logical time at which the block begins; transactions in it have larger ones.',
    end_lt: 'Logical time at which the block ends; all its transactions have smaller ones.',
    validator_list_hash_short:
      'Short hash (32 bits, may be negative) of the validator list that signed the block.',
    gen_catchain_seqno: 'Number of the validator session (catchain) that made the block.',
    min_ref_mc_seqno: "Oldest masterchain block that the shard's state still refers to.",
    prev_key_block_seqno: 'Masterchain seqno of the last key block before this block.',
    vert_seqno: 'Number of the vertical chain that the block belongs to.',
    master_ref_seqno: 'Masterchain block that a shard block was built upon; 0 for masterchain blocks.',
    rand_seed: 'Random seed that contracts see while the block is executed, base64.',
    created_by: 'Public key of the validator that made the block, base64.',
    tx_count:
      'How many transactions the block holds: the checksum that verification holds stored transactions against.',
    masterchain_block_ref_workchain:
      'Workchain of the masterchain block that registered this block: always -1.',
    masterchain_block_ref_shard:
      'Shard of the masterchain block that registered this block: always 8000000000000000.',
    masterchain_block_ref_seqno:
      'Number of the masterchain block that registered this block (itself, for a masterchain block); equals mc_block_seqno of its transactions.',
  },
  conflict: { kind: 'fill', columns: ['extra'] },
  partitioned: true,
});

export const block_parents = ton.table(
  'block_parents',
  {
    utime: utime(),
    workchain: integer().notNull(),
    shard: text().notNull(),
    seqno: integer().notNull(),
    position: integer().notNull(),
    parent_workchain: integer().notNull(),
    parent_shard: text().notNull(),
    parent_seqno: integer().notNull(),
    loaded_at: loadedAt(),
  },
  (t) => [primaryKey({ columns: [t.utime, t.workchain, t.shard, t.seqno, t.position] })],
);

describe(block_parents, {
  comment:
    'The links between blocks: one row for each parent of a block, one for most, two after a merge. By them verification proves that no block is missing.',
  from: { '': 'blocks[].*', parent_: 'blocks[].prev_blocks[].*' },
  columns: {
    utime:
      "Block time, UTC, of the child block: equals the child's utime in blocks. From blocks[].gen_utime.",
    workchain: 'Workchain of the child block, -1 or 0; its parents lie in the same one.',
    shard: 'Shard of the child block, upper-case hex without padding.',
    seqno: 'Number of the child block in its shard.',
    position: 'Place of the parent in the child block, from 0. The index in blocks[].prev_blocks.',
    parent_workchain: 'Workchain of the parent block.',
    parent_shard: "Shard of the parent block: the child's own, or after a split or merge the other one's.",
    parent_seqno:
      'Number of the parent block in its shard; 0 is the initial state, which the API does not list.',
  },
  conflict: { kind: 'keep' },
  partitioned: true,
});
