import { z } from 'zod';
import { requiredInt, requiredSeconds } from './members/scalar.ts';
import { blockKey } from '../ton/block-key.ts';

const id = { workchain: requiredInt, shard: z.string(), seqno: requiredInt };

/** What of a block tells where it stands in its chain, whatever else is in it. */
const Linked = z.object({
  ...id,
  gen_utime: requiredSeconds,
  before_split: z.boolean().nullish().catch(null),
  prev_blocks: z.array(z.object(id)).nullish(),
});

/**
 * The second (exclusive) before which a page of blocks shows by itself that nothing is missing, for servers that may
 * cut a 200 short. Every block has a successor, two before a split; a block whose successors are not all in the page is
 * *open*, and what follows it may be missing. All seconds before the first open block are joined.
 *
 * A hole within the page shows itself in the same way: the last block of the chain before it has no successor. Of a
 * chain whose first blocks are missing nothing shows here, nor can it where a page is cut at its end; the closure of
 * verification sees it. An empty page proves nothing: 0. Undefined
 * where a block does not even tell its links: it would look like a missing one for ever.
 */
export function joinedUntil(raws: readonly unknown[]): number | undefined {
  const read = Linked.array().safeParse(raws);
  if (!read.success) return undefined;
  const blocks = read.data;
  const children = new Map<string, Set<string>>();
  for (const block of blocks) {
    for (const parent of block.prev_blocks ?? []) {
      const key = blockKey(parent);
      children.set(key, (children.get(key) ?? new Set()).add(blockKey(block)));
    }
  }
  const open = blocks.filter((block) => {
    const successors = children.get(blockKey(block))?.size ?? 0;
    return successors < (block.before_split === true ? 2 : 1);
  });
  return open.reduce(
    (first, block) => Math.min(first, Number(block.gen_utime)),
    Number(open[0]?.gen_utime ?? 0),
  );
}
