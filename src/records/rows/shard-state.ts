import { z } from 'zod';
import type { ShardState } from '../schemas/shard-state.ts';
import type { shard_states } from '../../db/schema/shard-states.ts';
import { formatTime } from '../../range.ts';
import { extraWithin, type Extra } from '../../dataset/record.ts';
import { tiles } from '../../ton/shard.ts';
import { blockRows, type BlockRows } from './block.ts';

/** The rows of a shard state: which blocks are tops, and the blocks themselves. */
export interface ShardStateRows extends BlockRows {
  readonly shard_states: readonly (typeof shard_states.$inferInsert)[];
}

/** `seqno`: that of the masterchain block that was asked about, which is among the tops. */
export function shardStateRows({ blocks }: ShardState, extra: Extra, seqno: number): ShardStateRows {
  const master = blocks.find((block) => block.workchain === -1 && block.seqno === seqno);
  const utime = formatTime(master?.gen_utime ?? 0);
  const whole = blocks.map((block, index) => blockRows(block, extraWithin(extra, `blocks.${index}`) ?? {}));
  return {
    shard_states: blocks.map(({ workchain, shard, seqno: top }) => ({
      utime,
      mc_seqno: seqno,
      workchain,
      shard,
      seqno: top,
    })),
    blocks: whole.flatMap((rows) => rows.blocks),
    block_parents: whole.flatMap((rows) => rows.block_parents),
  };
}

const Tops = z.looseObject({ blocks: z.array(z.looseObject({ workchain: z.number(), shard: z.string() })) });

/** True where the tops fill every workchain: a 200 that was cut short does not. */
export function isWholeState(answers: readonly unknown[]): boolean {
  const [answer] = answers;
  const tops = Tops.safeParse(answer);
  return tops.success && tiles(tops.data.blocks);
}
