import type { Random } from '../../../random.ts';
import { BLOCK, NONE, shardDepth, type BlockTable } from '../tables/block-table.ts';

/** One shard of the basechain at work. */
export interface Shard {
  readonly code: number;
  seqno: number;
  /** The latest block, NONE before the first. */
  last: number;
  utime: number;
  /** Parents of the next block. */
  parents: readonly [number, number];
  /** The flags of the next block. */
  nextFlags: number;
  /** The latest block that a masterchain block has registered. */
  top: number;
  /** Blocks that no masterchain block has registered yet. */
  waiting: number[];
  /** While below this second, nothing of the shard is registered. */
  heldUntil: number;
}

/** The facts of a round for a block of one of its shards. */
interface NewBlock {
  readonly utime: number;
  readonly startLt: number;
  readonly round: number;
  /** In addition to those that the shard itself knows. */
  readonly flags: number;
}

type ShardPlan =
  | { readonly kind: 'split'; readonly shard: Shard }
  | { readonly kind: 'merge'; readonly shards: [Shard, Shard] };

/** The tiling of the basechain: which shards there are, and how they split and merge. */
export class Shards {
  private readonly blocks: BlockTable;
  private readonly random: Random;
  private readonly most: number;
  private plan: ShardPlan | undefined;
  current: Shard[];

  constructor(blocks: BlockTable, random: Random, most: number, firstSeqno: number) {
    this.blocks = blocks;
    this.random = random;
    this.most = most;
    const seqno = firstSeqno === 1 ? 0 : firstSeqno + 4_864_773;
    this.current = [newShard({ code: 1, seqno, utime: 0, parents: [NONE, NONE], nextFlags: 0 })];
  }

  /** True if a shard must make a block in this round, whatever chance says. */
  mustWork(shard: Shard): boolean {
    if (shard.last === NONE || shard.nextFlags !== 0) return true;
    const plan = this.plan;
    if (plan === undefined) return false;
    return plan.kind === 'split' ? plan.shard === shard : plan.shards.includes(shard);
  }

  /** Chooses what the next tick changes; the blocks of this tick's last round announce it. */
  decide(): void {
    const free = this.current.filter((shard) => shard.heldUntil === 0 && shard.waiting.length === 0);
    const splittable = free.filter((shard) => 2 ** shardDepth(shard.code) < this.most);
    const pairs = this.current.length > 2 ? mergeable(free) : [];
    const split = splittable[this.random.below(splittable.length)];
    const pair = pairs[this.random.below(pairs.length)];
    const grow = this.current.length < this.most && (pair === undefined || this.random.chance(0.5));
    if (grow && split !== undefined) this.plan = { kind: 'split', shard: split };
    else if (pair !== undefined) this.plan = { kind: 'merge', shards: pair };
  }

  /** Flags that a shard's last block before the change carries. */
  announcement(shard: Shard): number {
    if (this.plan === undefined || !this.mustWork(shard)) return 0;
    if (this.plan.kind === 'split')
      return this.plan.shard === shard ? BLOCK.beforeSplit | BLOCK.wantSplit : 0;
    return this.plan.shards.includes(shard) ? BLOCK.wantMerge : 0;
  }

  /** Carries the plan out, between two ticks. */
  reshape(): void {
    const plan = this.plan;
    this.plan = undefined;
    if (plan?.kind === 'split') {
      const { shard } = plan;
      const halves = [0, 1].map((half) =>
        newShard({
          code: shard.code * 2 + half,
          seqno: shard.seqno,
          utime: shard.utime,
          parents: [shard.last, NONE],
          nextFlags: BLOCK.afterSplit,
        }),
      );
      this.current = this.current.flatMap((other) => (other === shard ? halves : [other]));
    }
    if (plan?.kind === 'merge') {
      const [left, right] = plan.shards;
      const whole = newShard({
        code: left.code >> 1,
        seqno: Math.max(left.seqno, right.seqno),
        utime: Math.max(left.utime, right.utime),
        parents: [left.last, right.last],
        nextFlags: BLOCK.afterMerge,
      });
      this.current = this.current.flatMap((other) =>
        other === left ? [whole] : other === right ? [] : [other],
      );
    }
  }

  /** Makes a shard's next block and returns its row. */
  makeBlock(shard: Shard, { utime, startLt, round, flags }: NewBlock): number {
    shard.seqno++;
    const block = this.blocks.push({
      shard: shard.code,
      seqno: shard.seqno,
      utime,
      startLt,
      flags: shard.nextFlags | flags,
      round,
      parents: shard.parents,
    });
    shard.last = block;
    shard.utime = utime;
    shard.parents = [block, NONE];
    shard.nextFlags = 0;
    shard.waiting.push(block);
    return block;
  }
}

function newShard(facts: Pick<Shard, 'code' | 'seqno' | 'utime' | 'parents' | 'nextFlags'>): Shard {
  return { ...facts, last: facts.parents[0], top: NONE, waiting: [], heldUntil: 0 };
}

function mergeable(shards: readonly Shard[]): [Shard, Shard][] {
  return shards.flatMap((left) => {
    const right = left.code % 2 === 0 ? shards.find((shard) => shard.code === left.code + 1) : undefined;
    return right === undefined ? [] : [[left, right] satisfies [Shard, Shard]];
  });
}
