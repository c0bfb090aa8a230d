import { integer, jsonb, primaryKey, text } from 'drizzle-orm/pg-core';
import { hash, loadedAt } from '../columns.ts';
import { describe } from '../describe.ts';
import { ton } from '../schemas.ts';

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
    extra: jsonb(),
    loaded_at: loadedAt(),
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
