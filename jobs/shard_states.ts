import { shardState } from '../src/records/schemas/shard-state.ts';
import { defineCollection, perBlock as eachBlock } from '../src/dataset/collection.ts';
import { block_parents, blocks } from '../src/db/schema/blocks.ts';
import { shard_states } from '../src/db/schema/shard-states.ts';
import { perBlock } from '../src/dataset/paginators/per-block.ts';
import { isWholeState, shardStateRows } from '../src/records/rows/shard-state.ts';

export default defineCollection({
  title: 'Which blocks were the tops of all shards as each masterchain block saw them',
  blind: 'masterchain blocks outside of the ranges that were asked for',
  tables: { shard_states, blocks, block_parents },
  walks: [
    eachBlock({
      endpoint: { path: '/api/v3/masterchainBlockShardState' },
      shape: 'one',
      paginator: perBlock(),
      record: shardState,
      id: [],
      isWhole: isWholeState,
      rows: (record, extra, { key }) => ({ ...shardStateRows(record, extra, Number(key)) }),
    }),
  ],
});
