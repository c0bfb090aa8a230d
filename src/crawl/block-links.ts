import * as z from 'zod';
import { blockKey, misplacedBlocks } from '../ton/block-key.ts';
import { hash, shard } from '../records/members/form.ts';
import { requiredInt } from '../records/members/scalar.ts';
import { MASTERCHAIN, overlaps } from '../ton/shard.ts';

export const BlockId = z.object({ workchain: requiredInt, shard, seqno: requiredInt });

/** The members of a block that place it in the chain; the dataset itself reads the rest. */
export const LinkedBlock = BlockId.extend({
  gen_utime: z.coerce.number(),
  prev_blocks: z.array(BlockId).nullish(),
  root_hash: hash.nullish().catch(undefined),
  after_split: z.boolean().nullish().catch(undefined),
});

export type LinkedBlock = z.infer<typeof LinkedBlock>;
export type BlockId = z.infer<typeof BlockId>;

/** A parent that a block names and that is missing. */
export interface BrokenLink {
  readonly missing: BlockId;
  readonly child: LinkedBlock;
  /** The newest known block below the missing one in its chain; undefined if none is known. */
  readonly lower: LinkedBlock | undefined;
}

/**
 * The highest seqno up to which masterchain blocks follow each other from `start` without a break. Blocks
 * between `start` and a parent in `lost` are skipped: the source does not have them.
 */
export function contiguousFrom(
  start: number,
  blocks: Iterable<LinkedBlock>,
  lost: ReadonlySet<string> = new Set(),
): number {
  const seqnos: number[] = [];
  for (const { workchain, seqno } of blocks) if (workchain === MASTERCHAIN) seqnos.push(seqno);
  let last = start;
  for (const seqno of seqnos.sort((a, b) => a - b)) {
    if (seqno <= last) continue;
    if (seqno > last + 1 && !lost.has(blockKey(masterchainId(seqno - 1)))) break;
    last = seqno;
  }
  return last;
}

/** The masterchain is never split. */
export function masterchainId(seqno: number): BlockId {
  return { workchain: MASTERCHAIN, shard: '8000000000000000', seqno };
}

/** Every parent that a known block names, but that is not known itself, under its own name or under a wrong one. */
export function brokenLinks(known: ReadonlyMap<string, LinkedBlock>): BrokenLink[] {
  const misplaced = misplacedBlocks([...known.values()]);
  return [...known.values()].flatMap((child) =>
    (child.prev_blocks ?? [])
      .filter(
        (parent) => parent.seqno > 0 && !known.has(blockKey(parent)) && !misplaced.has(blockKey(parent)),
      )
      .map((missing) => ({ missing, child, lower: newestBelow(missing, known) })),
  );
}

/**
 * The first unknown block on the way down from `tops` by prev_blocks; undefined if everything down to the
 * `settled` blocks is known. Blocks in `lost` are skipped. If nothing is settled yet, a chain may end with
 * its oldest known block.
 */
export function firstMissing(
  tops: readonly LinkedBlock[],
  known: ReadonlyMap<string, LinkedBlock>,
  complete: ReadonlySet<string>,
  lost: ReadonlySet<string> = new Set(),
): string | undefined {
  const seen = new Set<string>();
  const misplaced = misplacedBlocks([...known.values()]);
  const stack: BlockId[] = [...tops];
  for (let id = stack.pop(); id !== undefined; id = stack.pop()) {
    const key = blockKey(id);
    if (seen.has(key) || complete.has(key) || lost.has(key) || id.seqno === 0) continue;
    seen.add(key);
    const block = known.get(key) ?? misplaced.get(key);
    if (block !== undefined) stack.push(...(block.prev_blocks ?? []));
    else if (complete.size > 0 || newestBelow(id, known) !== undefined) return key;
  }
  return undefined;
}

/** The newest known block below another one in its chain. */
export function newestBelow(id: BlockId, known: ReadonlyMap<string, LinkedBlock>): LinkedBlock | undefined {
  let newest: LinkedBlock | undefined;
  for (const block of known.values()) {
    if (block.workchain !== id.workchain || block.seqno >= id.seqno || !overlaps(block.shard, id.shard))
      continue;
    if (newest === undefined || block.gen_utime > newest.gen_utime) newest = block;
  }
  return newest;
}
