import { shardBlockProof } from '../src/records/schemas/v2.ts';
import { defineCollection, lookup } from '../src/dataset/collection.ts';
import { shard_block_proofs } from '../src/db/schema/shard-block-proofs.ts';
import { oneByOne } from '../src/dataset/paginators/lookup.ts';
import { proofRow } from '../src/records/rows/v2.ts';

export default defineCollection({
  title: 'Merkle proofs that link stored shard blocks of a range to the masterchain',
  blind: 'blocks that are not stored in the range that was asked for',
  onRequest: true,
  tables: { shard_block_proofs },
  walks: [
    lookup({
      endpoint: { method: 'getShardBlockProof' },
      shape: 'one',
      paginator: oneByOne(),
      record: shardBlockProof,
      id: ['mc_id.root_hash'],
      rows: (record, extra, { key }) => ({ shard_block_proofs: [proofRow(record, extra, key)] }),
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
