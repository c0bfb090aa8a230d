import { isHalf, isOfMasterchain, MASTERCHAIN, SHARD } from './shard.ts';

interface BlockId {
  readonly workchain: number;
  readonly shard: string;
  readonly seqno: number;
}

/** A block with the members that tell its place in the chain. */
interface PlacedBlock extends BlockId {
  readonly after_split?: boolean | null | undefined;
  readonly prev_blocks?: readonly BlockId[] | null | undefined;
}

/** A block's name as one string: workchain, shard and seqno. */
export function blockKey(block: BlockId): string {
  return `${block.workchain}:${block.shard}:${block.seqno}`;
}

/**
 * Blocks whose workchain or shard does not follow from their parents. The keys are those of absent parents with the
 * same seqno, and the same workchain or shard. Such a parent is not missing: the source has it, under a name that does
 * not fit the chain.
 */
export function misplacedBlocks<Block extends PlacedBlock>(
  blocks: readonly Block[],
  parents: readonly BlockId[] = blocks.flatMap(({ prev_blocks }) => prev_blocks ?? []),
): Map<string, Block> {
  const misplaced = blocks.filter((block) => !isPlaced(block));
  const found = new Map<string, Block>();
  if (misplaced.length === 0) return found;
  const here = new Set(blocks.map(blockKey));
  for (const parent of parents) {
    const key = blockKey(parent);
    const block = misplaced.find(
      ({ workchain, shard, seqno }) =>
        seqno === parent.seqno && (workchain === parent.workchain || shard === parent.shard),
    );
    if (block !== undefined && !here.has(key)) found.set(key, block);
  }
  return found;
}

/**
 * True if a block follows from its parents: the block before it, the one that split, or the two that merged. The
 * masterchain does neither.
 */
export function isPlaced({ workchain, shard, after_split, prev_blocks }: PlacedBlock): boolean {
  const parents = prev_blocks ?? [];
  const isForm = [shard, ...parents.map((parent) => parent.shard)].every((word) => SHARD.test(word));
  if (!isForm || parents.some((parent) => parent.workchain !== workchain)) return false;
  if (workchain === MASTERCHAIN && !isOfMasterchain({ workchain, shard })) return false;
  if (parents.length > 1) return parents.every((parent) => isHalf(parent.shard, shard));
  return parents.every(
    (parent) => parent.shard === shard || (after_split !== false && isHalf(shard, parent.shard)),
  );
}
