import { NONE } from '../tables/block-table.ts';
import type { Draft } from '../tables/transaction-table.ts';

/** One step of the network: each open shard makes one block in it, all with the same start_lt. */
export class Round {
  readonly index: number;
  /** The latest second of the round's blocks. */
  readonly utime: number;
  readonly baseLt: number;
  /** How many transactions the round may hold. */
  readonly quota: number;
  readonly drafts: Draft[] = [];
  /** Block rows by the first three bits of the addresses that they hold. */
  private readonly blocks = new Int32Array(8).fill(NONE);

  constructor(index: number, utime: number, baseLt: number, quota: number) {
    this.index = index;
    this.utime = utime;
    this.baseLt = baseLt;
    this.quota = quota;
  }

  get isFull(): boolean {
    return this.drafts.length >= this.quota;
  }

  /** Opens a block for the addresses of a shard of the basechain. */
  open(block: number, shard: number): void {
    const depth = 31 - Math.clz32(shard);
    const width = 8 >> depth;
    const first = (shard - 2 ** depth) * width;
    this.blocks.fill(block, first, first + width);
  }

  /** The block of this round for an address of the basechain, or NONE. */
  blockFor(prefix: number): number {
    return this.blocks[prefix >>> 29] ?? NONE;
  }
}
