import { BLOCK, NONE } from '../chain/tables/block-table.ts';
import { blockId } from '../../json/block-json.ts';
import type { World } from '../chain/world.ts';
import type { Faults } from '../../faults.ts';
import type { View } from '../../network-view.ts';

/** A view that also hides single blocks. */
export interface ChainView extends View {
  seesBlock(block: number): boolean;
}

interface Birth {
  readonly shard: number;
  readonly utime: number;
}

/** Decides which part of a generated network is visible at a moment of chain time. */
export class Visibility {
  private readonly world: World;
  private readonly faults: Faults;
  private readonly births: Birth[] = [];
  private scanned = 0;

  constructor(world: World, faults: Faults) {
    this.world = world;
    this.faults = faults;
  }

  /** The view of a replica whose newest data are of second `headTime`. */
  at(headTime: number): ChainView {
    const { ticks, options } = this.world;
    const after = ticks.utime.lowerBound(Math.floor(headTime) + 1);
    const hidden = this.hiddenTicks(headTime);
    const sees = (tick: number): boolean => tick >= 0 && tick < after && !hidden(tick);
    let head = after - 1;
    while (head >= 0 && hidden(head)) head--;
    return {
      headTime,
      head: head < 0 ? undefined : this.world.seqnoOfTick(head),
      seesMasterchain: (seqno) => sees(seqno - options.firstSeqno),
      seesBlock: this.seesBlock(headTime),
    };
  }

  private hiddenTicks(headTime: number): (tick: number) => boolean {
    const { lateBlocks, holes } = this.faults;
    if (lateBlocks === undefined && holes === undefined) return () => false;
    const { world } = this;
    const isLate = (tick: number): boolean =>
      lateBlocks !== undefined &&
      headTime < world.ticks.utime.get(tick) + lateBlocks.seconds &&
      world.hashes('late').prefix(tick) < lateBlocks.probability * 2 ** 32;
    const isHole = (seqno: number): boolean =>
      holes?.some((hole) => seqno >= hole.from && seqno <= hole.to) ?? false;
    return (tick) => isHole(world.seqnoOfTick(tick)) || isLate(tick);
  }

  private seesBlock(headTime: number): (block: number) => boolean {
    const isLate = this.isLateChild(headTime);
    const { lostBlocks = [] } = this.faults;
    if (lostBlocks.length === 0) return (block) => !isLate(block);
    const { blocks } = this.world;
    const isLost = (block: number): boolean => {
      const utime = blocks.utime.get(block);
      const { workchain, shard } = blockId(this.world, block);
      return lostBlocks.some(
        (lost) =>
          workchain === 0 && utime >= lost.from && utime <= lost.to && (lost.shard ?? shard) === shard,
      );
    };
    return (block) => !isLate(block) && !isLost(block);
  }

  private isLateChild(headTime: number): (block: number) => boolean {
    const { lateSplit } = this.faults;
    if (lateSplit === undefined) return () => false;
    this.scan();
    const { blocks } = this.world;
    const hiding = this.births.filter(
      ({ utime }) => headTime >= utime && headTime < utime + lateSplit.seconds,
    );
    return (block) =>
      hiding.some(
        (birth) => blocks.shard.get(block) === birth.shard && blocks.utime.get(block) >= birth.utime,
      );
  }

  /** Right children of splits, found once as the network grows. */
  private scan(): void {
    const { blocks } = this.world;
    for (; this.scanned < blocks.count; this.scanned++) {
      const shard = blocks.shard.get(this.scanned);
      const born = (blocks.flags.get(this.scanned) & BLOCK.afterSplit) !== 0;
      if (born && shard % 2 === 1 && blocks.left.get(this.scanned) !== NONE)
        this.births.push({ shard, utime: blocks.utime.get(this.scanned) });
    }
  }
}
