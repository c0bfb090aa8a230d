import * as z from 'zod';
import { timeOf } from '../src/records/members.ts';
import { defineCollection, perBlock, type Asked } from '../src/dataset/collection.ts';
import {
  extraWithin,
  givenLayout,
  NOTHING,
  type Extra,
  type Put,
} from '../src/dataset/declaration/record.ts';
import { block_parents, blocks, shard_states } from '../src/tables/ton/blocks.ts';
import { block, blockRows } from '../src/records/block.ts';
import { MASTERCHAIN, tiles } from '../src/ton/shard.ts';

/** A response of GET /api/v3/masterchainBlockShardState, as a whole. */
export const shardState = z.strictObject({ blocks: z.array(block) });

const tops = z.looseObject({ blocks: z.array(z.looseObject({ workchain: z.number(), shard: z.string() })) });

const topLayout = givenLayout(shard_states);

export default defineCollection({
  title: 'Which blocks were the tops of all shards as each masterchain block saw them',
  limitations: 'masterchain blocks outside of the requested ranges',
  tables: { shard_states, blocks, block_parents },
  walks: [
    perBlock({
      path: '/api/v3/masterchainBlockShardState',
      index: 'shard_state (mc_seqno, workchain, shard, seqno)',
      shape: 'one',
      record: shardState,
      id: [],
      isWhole,
      rows: topRows,
    }),
  ],
});

/** True if the tops fill every workchain. Those of a 200 that was cut short do not. */
function isWhole([response]: readonly unknown[]): boolean {
  const read = tops.safeParse(response);
  return read.success && tiles(read.data.blocks);
}

/** Puts the tops, and the rows of their blocks. The requested masterchain block is one of them. */
function topRows({ blocks }: z.output<typeof shardState>, extra: Extra, put: Put, { key }: Asked): void {
  const mc_seqno = Number(key);
  const master = blocks.find((top) => top.workchain === MASTERCHAIN && top.seqno === mc_seqno);
  const utime = timeOf(master?.gen_utime ?? 0);
  for (const [index, top] of blocks.entries()) {
    const { workchain, shard, seqno } = top;
    put(topLayout, null, { utime, mc_seqno, workchain, shard, seqno });
    blockRows(top, extraWithin(extra, `blocks.${index}`) ?? NOTHING, put);
  }
}
