import { defineJob } from '../src/dataset/job.ts';
import { forward } from '../src/dataset/paginators/forward.ts';
import { block_parents, blocks } from '../src/tables/ton/blocks.ts';
import { block, blockRows, joinsOf } from '../src/records/block.ts';

export default defineJob({
  title: 'Blocks of the masterchain and all shards, with the links to their parents',
  core: true,
  path: '/api/v3/blocks',
  list: 'blocks',
  index: { columns: 'blocks (gen_utime)', of: 'utime' },
  // With `sort`, some servers order by time alone, so blocks of one second may come in any order.
  paginator: forward({ order: 'partial', joined: true }),
  record: block,
  position: {
    utime: 'gen_utime',
    lt: 'start_lt',
    id: ['workchain', 'shard', 'seqno'],
    separator: ':',
  },
  tables: { blocks, block_parents },
  rows: blockRows,
  joinsOf,
  byBlock: { path: '/api/v3/masterchainBlockShards', param: 'seqno' },
  checks: { blocks: true, 'block-seconds': true },
  grade: {
    grade: 'proved',
    proves:
      'all blocks between the shard tops after the range and the blocks before it are stored, with their links',
    limitations:
      'changed values of a block other than its name, its second, its parents and its number of transactions',
  },
});
