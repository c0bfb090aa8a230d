import * as z from 'zod';
import { blockKey } from '../../ton/block-key.ts';
import { shard } from '../../records/members/form.ts';
import { requiredInt } from '../../records/members/scalar.ts';
import { MASTERCHAIN, overlaps } from '../../ton/shard.ts';

const BlockId = z.object({ workchain: requiredInt, shard, seqno: requiredInt });

/** What of a block tells where it stands in the chain; the rest is the business of the dataset. */
export const LinkedBlock = BlockId.extend({
  gen_utime: z.coerce.number(),
  prev_blocks: z.array(BlockId).nullish(),
});

export type LinkedBlock = z.infer<typeof LinkedBlock>;
type BlockId = z.infer<typeof BlockId>;

/** The highest seqno up to which masterchain blocks follow each other from `start` without a break. */
export function contiguousFrom(start: number, blocks: Iterable<LinkedBlock>): number {
  const seqnos = new Set<number>();
  for (const { workchain, seqno } of blocks) if (workchain === MASTERCHAIN) seqnos.add(seqno);
  let last = start;
  while (seqnos.has(last + 1)) last += 1;
  return last;
}

/**
 * The first block, walking down from `tops` by prev_blocks, that is not known; undefined where everything down to the
 * `settled` blocks is there. Where nothing is settled yet, a chain may end with the oldest block that is known of it.
 */
export function firstMissing(
  tops: readonly LinkedBlock[],
  known: ReadonlyMap<string, LinkedBlock>,
  settled: ReadonlySet<string>,
): string | undefined {
  const seen = new Set<string>();
  const stack: BlockId[] = [...tops];
  for (let id = stack.pop(); id !== undefined; id = stack.pop()) {
    const key = blockKey(id);
    if (seen.has(key) || settled.has(key) || id.seqno === 0) continue;
    seen.add(key);
    const block = known.get(key);
    if (block !== undefined) stack.push(...(block.prev_blocks ?? []));
    else if (settled.size > 0 || hasOlder(id, known)) return key;
  }
  return undefined;
}

function hasOlder(id: BlockId, known: ReadonlyMap<string, LinkedBlock>): boolean {
  for (const block of known.values()) {
    if (block.workchain === id.workchain && block.seqno < id.seqno && overlaps(block.shard, id.shard))
      return true;
  }
  return false;
}
