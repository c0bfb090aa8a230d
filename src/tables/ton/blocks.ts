import { index } from 'drizzle-orm/pg-core';
import {
  boolean,
  count8,
  hash,
  int8,
  integer,
  jsonb,
  loadedAt,
  moment,
  restColumns,
  text,
  tonTable,
  utime,
} from '../describe.ts';

export const masterchain_heads = tonTable('masterchain_heads', {
  comment:
    'The newest masterchain block, sampled: as the nodes have it (v2) and as the index has it (v3), a row each. How far the index lags is in masterchain_lag.',
  from: 'last.* of masterchainInfo',
  columns: {
    taken_at: moment('When the sample was taken, wall time, UTC, written by the program.').notNull(),
    source: text(
      'One of node (getMasterchainInfo of v2) and index (masterchainInfo of v3), written by the program.',
    ).notNull(),
    seqno: integer('Number of the newest masterchain block.').notNull(),
    root_hash: hash('Root hash of the newest masterchain block, base64.').notNull(),
    file_hash: hash('File hash of the newest masterchain block, base64.').notNull(),
    head_utime: moment(
      'Block time, UTC, of the newest masterchain block; null for nodes, which do not tell it. From last.gen_utime of masterchainInfo.',
    ),
    state_root_hash: hash(
      'Root hash of the state, base64; null for the index. From result.state_root_hash of getMasterchainInfo.',
    ),
    init_seqno: integer(
      "Number of the network's first block, 0; null for the index. From result.init.seqno of getMasterchainInfo.",
    ),
    init_root_hash: hash(
      "Root hash of the network's first block, base64; null for the index. From result.init.root_hash of getMasterchainInfo.",
    ),
    init_file_hash: hash(
      "File hash of the network's first block, base64; null for the index. From result.init.file_hash of getMasterchainInfo.",
    ),
    first_seqno: integer(
      'Oldest masterchain block of the index; null for nodes. From first.seqno of masterchainInfo.',
    ),
    ...restColumns(
      'Members of either response that this version of the program has no column for; null if there are none.',
    ),
  },
  key: ['taken_at', 'source'],
  conflict: { kind: 'keep' },
});

export const shard_block_proofs = tonTable('shard_block_proofs', {
  comment:
    'Merkle proofs that a block belongs to the chain, one row for each block that was asked about. A proof leads from it to the masterchain block that registered it, and from there to one that is trusted.',
  from: 'result.* of getShardBlockProof',
  columns: {
    workchain: integer(
      'Workchain of the block that is proved. The request of getShardBlockProof, written by the program.',
    ).notNull(),
    shard: text(
      'Shard of the block that is proved, upper-case hex without padding. The request of getShardBlockProof, written by the program.',
    ).notNull(),
    seqno: integer(
      'Number of the block that is proved, in its shard. The request of getShardBlockProof, written by the program.',
    ).notNull(),
    from_seqno: integer(
      'Masterchain block from which the proof begins, the newest one when it was asked for. From result.from.seqno of getShardBlockProof.',
    ).notNull(),
    from_root_hash: hash(
      'Root hash of the masterchain block from which the proof begins, base64. From result.from.root_hash of getShardBlockProof.',
    ).notNull(),
    from_file_hash: hash(
      'File hash of the masterchain block from which the proof begins, base64. From result.from.file_hash of getShardBlockProof.',
    ).notNull(),
    mc_seqno: integer(
      'Masterchain block that registered the block. From result.mc_id.seqno of getShardBlockProof.',
    ).notNull(),
    mc_root_hash: hash(
      'Root hash of the masterchain block that registered it, base64. From result.mc_id.root_hash of getShardBlockProof.',
    ).notNull(),
    mc_file_hash: hash(
      'File hash of the masterchain block that registered it, base64. From result.mc_id.file_hash of getShardBlockProof.',
    ).notNull(),
    links: jsonb(
      'Proofs from the masterchain block down to the block, an array of block id and proof (a bag of cells, base64).',
    ).notNull(),
    mc_proof: jsonb(
      'Proofs between masterchain blocks, an array of two block ids and three bags of cells each.',
    ).notNull(),
    ...restColumns(
      'Members of the result of getShardBlockProof that this version of the program has no column for; null if there are none.',
    ),
  },
  key: ['workchain', 'shard', 'seqno'],
  conflict: { kind: 'replace' },
});

export const shard_states = tonTable('shard_states', {
  comment:
    'Which blocks were the tops of all shards as a masterchain block saw them: one row for each shard of each masterchain block, itself among them. The blocks are rows of blocks.',
  from: 'blocks[].* of the response',
  columns: {
    utime: utime(
      'Block time, UTC, of the masterchain block that was asked about. From blocks[].gen_utime of the response’s masterchain block.',
    ),
    mc_seqno: integer(
      'Number of the masterchain block that was asked about. The seqno of the request, written by the program.',
    ).notNull(),
    workchain: integer('Workchain of the top, -1 for the masterchain block itself.').notNull(),
    shard: text('Shard of the top, upper-case hex without padding.').notNull(),
    seqno: integer(
      'Number of the top in its shard: a block that an earlier masterchain block may have registered.',
    ).notNull(),
    loaded_at: loadedAt(),
  },
  key: ['utime', 'mc_seqno', 'workchain', 'shard'],
  conflict: { kind: 'keep' },
  partitioned: true,
});

export const blocks = tonTable('blocks', {
  comment:
    'Blocks of the masterchain (workchain -1) and of all shards, one row a block. Read from GET /api/v3/blocks; a row never changes.',
  from: { '': 'blocks[].*', masterchain_block_ref_: 'blocks[].masterchain_block_ref.*' },
  columns: {
    utime: utime('Block time, UTC, to the second: when the block was generated. From blocks[].gen_utime.'),
    workchain: integer(
      'Workchain of the block: -1 is the masterchain, 0 the basechain, where nearly all accounts live.',
    ).notNull(),
    shard: text(
      'Shard of the block, upper-case hex without padding: 8000000000000000 is a whole workchain, its highest bits are the prefix of the accounts in it.',
    ).notNull(),
    seqno: integer(
      'Number of the block in its shard, from 1; after a split or a merge counting goes on from the larger parent.',
    ).notNull(),
    root_hash: hash("Hash of the block's root cell, base64: the block's identity.").notNull(),
    file_hash: hash("Hash of the block's serialized file, base64.").notNull(),
    global_id: integer(
      'Number of the network: -239 is mainnet, -3 testnet; null if an older server leaves it out.',
    ),
    version: count8('Version of the block format, 0 so far; null if an older server leaves it out.'),
    after_merge: boolean('True if the block follows a merge of two shards, so that it has two parents.'),
    before_split: boolean(
      'True if the block is the last one before its shard splits, so that it has two children.',
    ),
    after_split: boolean('True if the block is the first one of a shard that came out of a split.'),
    want_merge: boolean('True if the validators want to merge this shard with its sibling.'),
    want_split: boolean('True if the validators want to split this shard, because its blocks are full.'),
    key_block: boolean('True for a masterchain block that changes the configuration or the validator set.'),
    vert_seqno_incr: boolean(
      'True if the block starts a new vertical chain, that is, corrects history; false in practice.',
    ),
    flags: integer("Bits of the block header's flags; bit 0: software version is given."),
    start_lt: int8('Logical time at which the block begins; transactions in it have larger ones.').notNull(),
    end_lt: int8('Logical time at which the block ends; all its transactions have smaller ones.').notNull(),
    validator_list_hash_short: integer(
      'Short hash (32 bits, may be negative) of the validator list that signed the block.',
    ),
    gen_catchain_seqno: integer('Number of the validator session (catchain) that made the block.'),
    min_ref_mc_seqno: integer("Oldest masterchain block that the shard's state still refers to."),
    prev_key_block_seqno: integer('Masterchain seqno of the last key block before this block.'),
    vert_seqno: integer('Number of the vertical chain that the block belongs to.'),
    master_ref_seqno: integer(
      'Masterchain block that a shard block was built upon; 0 for masterchain blocks.',
    ),
    rand_seed: hash('Random seed that contracts see while the block is executed, base64.'),
    created_by: text('Public key of the validator that made the block, base64.'),
    tx_count: integer(
      'How many transactions the block holds: the checksum that verification holds stored transactions against.',
    ).notNull(),
    masterchain_block_ref_workchain: integer(
      'Workchain of the masterchain block that registered this block: always -1.',
    ),
    masterchain_block_ref_shard: text(
      'Shard of the masterchain block that registered this block: always 8000000000000000.',
    ),
    masterchain_block_ref_seqno: integer(
      'Number of the masterchain block that registered this block (itself, for a masterchain block); equals mc_block_seqno of its transactions.',
    ),
    ...restColumns(),
  },
  key: ['utime', 'workchain', 'shard', 'seqno'],
  indexes: (t) => [
    // Children and transactions refer to a block without its time.
    index('blocks_id').on(t.workchain, t.shard, t.seqno),
  ],
  conflict: { kind: 'fill', columns: ['extra'] },
  partitioned: true,
});

export const block_parents = tonTable('block_parents', {
  comment:
    'The links between blocks: one row for each parent of a block, one for most, two after a merge. By them verification proves that no block is missing.',
  from: { '': 'blocks[].*', parent_: 'blocks[].prev_blocks[].*' },
  columns: {
    utime: utime(
      "Block time, UTC, of the child block: equals the child's utime in blocks. From blocks[].gen_utime.",
    ),
    workchain: integer('Workchain of the child block, -1 or 0; its parents lie in the same one.').notNull(),
    shard: text('Shard of the child block, upper-case hex without padding.').notNull(),
    seqno: integer('Number of the child block in its shard.').notNull(),
    position: integer(
      'Place of the parent in the child block, from 0. The index in blocks[].prev_blocks.',
    ).notNull(),
    parent_workchain: integer('Workchain of the parent block.').notNull(),
    parent_shard: text(
      "Shard of the parent block: the child's own, or after a split or merge the other one's.",
    ).notNull(),
    parent_seqno: integer(
      'Number of the parent block in its shard; 0 is the initial state, which the API does not list.',
    ).notNull(),
    loaded_at: loadedAt(),
  },
  key: ['utime', 'workchain', 'shard', 'seqno', 'position'],
  conflict: { kind: 'keep' },
  partitioned: true,
});
