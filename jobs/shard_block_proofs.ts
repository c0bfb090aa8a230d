import * as z from 'zod';
import { defineCollection, lookup, type Asked } from '../src/dataset/collection.ts';
import { elsewhere, rowLayoutOf, type Extra, type Put } from '../src/dataset/declaration/record.ts';
import { shard_block_proofs } from '../src/tables/ton/blocks.ts';
import { blockIdExt, tag, requiredFlag } from '../src/records/members.ts';

export const shardBlockProof = z.strictObject({
  '@type': tag,
  from: elsewhere(blockIdExt),
  mc_id: elsewhere(blockIdExt),
  links: z.array(z.strictObject({ '@type': tag, id: blockIdExt, proof: z.string() })),
  mc_proof: z.array(
    z.strictObject({
      '@type': tag,
      to_key_block: requiredFlag,
      from: blockIdExt,
      to: blockIdExt,
      dest_proof: z.string(),
      proof: z.string(),
      state_proof: z.string(),
    }),
  ),
});

const rowLayout = rowLayoutOf(shard_block_proofs, shardBlockProof);

export default defineCollection({
  title: 'Merkle proofs that link stored shard blocks of a range to the masterchain',
  limitations: 'blocks of the requested range that are not stored',
  onRequest: true,
  tables: { shard_block_proofs },
  walks: [
    lookup({
      method: 'getShardBlockProof',
      shape: 'one',
      record: shardBlockProof,
      id: ['mc_id.root_hash'],
      rows: proofRows,
      answers: { key: 'mc_id.root_hash' },
      subjects: {
        watched: false,
        ofRange: true,
        seenIn: [
          {
            relation: 'etl.stored_shard_blocks',
            key: 'key',
            fields: ['workchain', 'shard', 'seqno'],
            time: 'utime',
          },
        ],
      },
    }),
  ],
});

/** Puts the row of a proof. `key` names the proved block: workchain, shard in hex, seqno. */
function proofRows(record: z.output<typeof shardBlockProof>, extra: Extra, put: Put, { key }: Asked): void {
  const { from, mc_id } = record;
  const [workchain, shard = '', seqno] = key.split(':');
  const given = {
    workchain: Number(workchain),
    shard,
    seqno: Number(seqno),
    from_seqno: from.seqno,
    from_root_hash: from.root_hash,
    from_file_hash: from.file_hash,
    mc_seqno: mc_id.seqno,
    mc_root_hash: mc_id.root_hash,
    mc_file_hash: mc_id.file_hash,
  };
  put(rowLayout, record, given, extra);
}
