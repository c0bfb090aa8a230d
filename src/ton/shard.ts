/** A shard: the part of a workchain's addresses that its prefix begins. */
interface ShardId {
  readonly workchain: number;
  /** Hex without padding; the lowest bit that is set ends the prefix. */
  readonly shard: string;
}

/** How a shard is written: a prefix in upper-case hex without padding. */
export const SHARD = /^[1-9A-F][0-9A-F]{0,15}$/;

/** The workchain whose blocks register those of all shards. */
export const MASTERCHAIN = -1;
const SHARD_BITS = 64n;

/**
 * True where the tops are a whole state: in each workchain the shards' prefixes fill the address space once (the sum
 * of 2^-length is 1), and the masterchain is there. A 200 that was cut short does not tile.
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

/** The part of the address space that a shard holds, of 2^64. */
function shareOf(shard: string): bigint {
  const { from, to } = span(shard);
  return to - from;
}

/** True where one shard is the other, or lies within it. */
export function overlaps(a: string, b: string): boolean {
  const [x, y] = [span(a), span(b)];
  return x.from < y.to && y.from < x.to;
}

/** The addresses of a shard: the lowest set bit of its id marks where the prefix ends. */
function span(shard: string): { from: bigint; to: bigint } {
  const id = BigInt(`0x${shard}`);
  const half = id & -id;
  return { from: id - half, to: id + half };
}
