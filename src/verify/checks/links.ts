import { sql, type SQL } from 'drizzle-orm';
import type { LinkedBlock } from '../../crawl/block-links.ts';
import { blockKey } from '../../ton/block-key.ts';
import type { BlocksAround } from './blocks-around.ts';
import { during } from '../../postgres/seconds.ts';

/** Blocks after the stored ones: those that were requested, and the tops. */
export function blocksBeyond(around: BlocksAround): LinkedBlock[] {
  const beyond = [...around.after, ...around.tops.filter((top) => top.gen_utime >= around.storedUntil)];
  return [...new Map(beyond.map((block) => [blockKey(block), block])).values()];
}

/**
 * Links to parents, from the stored blocks of a stretch and from the blocks after it; and links to the tops themselves.
 */
export function linksOf(from: number, around: BlocksAround): SQL {
  const links = blocksBeyond(around).flatMap((child) =>
    (child.prev_blocks ?? []).map((parent) => linkOf(child, parent, child.gen_utime)),
  );
  const tops = around.tops
    .filter((top) => top.gen_utime < around.storedUntil)
    .map((top) => linkOf(top, top, top.gen_utime));
  return sql`
    select p.parent_workchain as workchain, p.parent_shard as shard, p.parent_seqno as seqno,
      p.shard as child_shard, p.seqno as child_seqno, extract(epoch from p.utime)::int8 as child_at
    from ton.block_parents p where ${during('p', { from, to: around.storedUntil })}
    union all
    select * from jsonb_to_recordset(${JSON.stringify([...links, ...tops])}::jsonb)
      as l (workchain int, shard text, seqno int, child_shard text, child_seqno int, child_at int8)`;
}

type Id = Pick<LinkedBlock, 'workchain' | 'shard' | 'seqno'>;

function linkOf(child: Id, { workchain, shard, seqno }: Id, at: number) {
  return { workchain, shard, seqno, child_shard: child.shard, child_seqno: child.seqno, child_at: at };
}
