/** A shard: the addresses of a workchain that begin with its prefix. */
interface ShardId {
  readonly workchain: number;
  /** Hex without padding; the lowest set bit ends the prefix. */
  readonly shard: string;
}

/** The written form of a shard: a prefix in upper-case hex without padding. */
export const SHARD = /^[1-9A-F][0-9A-F]{0,15}$/;

const SHARD_BITS = 64n;
const HEX = /^(?:0x)?([0-9a-f]{1,16})$/i;
const DECIMAL = /^-?\d{1,20}$/;

/**
 * A shard in the form of `SHARD`, from hex (either case, padded, with 0x) or from a decimal, signed or not.
 * Undefined for anything else. If the digits may be both, they are the shorter prefix, because no chain
 * splits its shards as far as the longer one.
 */
export function readShard(word: string | number | bigint): string | undefined {
  // This is the most frequent word: every masterchain block has it.
  if (word === MASTERCHAIN_SHARD) return word;
  const text = String(word);
  const digits = HEX.exec(text)?.[1];
  const hex = typeof word === 'string' && digits !== undefined ? BigInt(`0x${digits}`) : undefined;
  const decimal = DECIMAL.test(text) ? BigInt(text) : undefined;
  const ids = [hex, decimal].filter((id) => id !== undefined).filter((id) => id !== 0n && isOf64Bits(id));
  const [shorter] = ids
    .map((id) => BigInt.asUintN(64, id))
    .sort((a, b) => Number(lowestBit(b) - lowestBit(a)));
  return shorter?.toString(16).toUpperCase();
}

function isOf64Bits(id: bigint): boolean {
  return id < 1n << SHARD_BITS && id >= -(1n << (SHARD_BITS - 1n));
}

/** The end of a prefix: the higher, the shorter the prefix. */
function lowestBit(id: bigint): bigint {
  return id & -id;
}

/** The workchain whose blocks register those of all shards. */
export const MASTERCHAIN = -1;
/** The masterchain is never split. */
export const MASTERCHAIN_SHARD = '8000000000000000';

/** True for a block of the masterchain, and false for one that only claims its workchain. */
export function isOfMasterchain({ workchain, shard }: ShardId): boolean {
  return workchain === MASTERCHAIN && shard === MASTERCHAIN_SHARD;
}

/**
 * True if the tops are a complete state: in each workchain the shards' prefixes fill the address space once
 * (the sum of 2^-length is 1), and the masterchain is there. The tops of a 200 that was cut short do not.
 */
export function tiles(tops: readonly ShardId[]): boolean {
  const filled = new Map<number, bigint>();
  for (const { workchain, shard } of tops) {
    filled.set(workchain, (filled.get(workchain) ?? 0n) + shareOf(shard));
  }
  return (
    filled.has(MASTERCHAIN) &&
    filled.size > 1 &&
    [...filled.values()].every((sum) => sum === 1n << SHARD_BITS)
  );
}

/** The share of the address space that a shard holds, of 2^64. */
function shareOf(shard: string): bigint {
  const { from, to } = span(shard);
  return to - from;
}

/** True if one shard equals or contains the other. */
export function overlaps(a: string, b: string): boolean {
  const [x, y] = [span(a), span(b)];
  return x.from < y.to && y.from < x.to;
}

/** True if one shard is what another one splits into. */
export function isHalf(half: string, of: string): boolean {
  return overlaps(half, of) && lowestBit(BigInt(`0x${half}`)) * 2n === lowestBit(BigInt(`0x${of}`));
}

/** The addresses of a shard: the lowest set bit of its id ends the prefix. */
function span(shard: string): { from: bigint; to: bigint } {
  const id = BigInt(`0x${shard}`);
  const half = lowestBit(id);
  return { from: id - half, to: id + half };
}

interface BlockName {
  readonly workchain: number;
  readonly shard: string;
  readonly seqno: number;
}

/** A block with the members that tell its place in the chain. */
interface PlacedBlock extends BlockName {
  readonly after_split?: boolean | null | undefined;
  readonly prev_blocks?: readonly BlockName[] | null | undefined;
}

/** A block's name as one string: workchain, shard and seqno. */
export function blockKey(block: BlockName): string {
  return `${block.workchain}:${block.shard}:${block.seqno}`;
}

/**
 * Blocks whose workchain or shard does not follow from their parents. The keys are those of absent parents with the
 * same seqno, and the same workchain or shard. Such a parent is not missing: the source has it, under a name that does
 * not fit the chain.
 */
export function misplacedBlocks<Block extends PlacedBlock>(
  blocks: readonly Block[],
  parents: readonly BlockName[] = blocks.flatMap(({ prev_blocks }) => prev_blocks ?? []),
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
