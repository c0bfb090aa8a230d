import type { Tie } from '../options.ts';
import type { World } from '../world.ts';

/** A round of the shards that is still to be made. */
export interface PlannedRound {
  /** Unix seconds with a fraction. */
  readonly time: number;
  readonly tie: Tie | undefined;
}

/** Says when ticks and rounds are; ties have a round of their own in their very second. */
export class Timetable {
  /** Ties of the masterchain's own transactions, and those of the shards. */
  readonly electorTies: readonly Tie[];
  readonly shardTies: readonly Tie[];
  private readonly world: World;
  private nextTie = 0;

  constructor(world: World) {
    const { ties } = world.options;
    this.world = world;
    this.electorTies = ties.filter((tie) => tie.of === 'validator_events');
    this.shardTies = ties.filter((tie) => tie.of !== 'validator_events');
  }

  /** The precise time of a tick's masterchain block, unix seconds with a fraction. */
  timeOf(tick: number): number {
    const time = this.plainTimeOf(tick);
    if (this.electorTies.length === 0 || tick === 0) return time;
    // A block of the masterchain must be in exactly the second of such a tie.
    const before = this.plainTimeOf(tick - 1);
    return this.electorTies.find(({ second }) => before < second && second <= time)?.second ?? time;
  }

  private plainTimeOf(tick: number): number {
    const { start, masterchainInterval } = this.world.options;
    const jitter =
      tick === 0 ? 0 : (this.world.hashes('jitter').prefix(tick) / 2 ** 32) * masterchainInterval * 0.6;
    return start + tick * masterchainInterval + jitter;
  }

  /** The rounds of the tick that begins at `start` and ends at `end`; to be asked once for each tick. */
  roundsUntil(end: number, start: number): PlannedRound[] {
    const { roundsPerTick } = this.world.options;
    const rounds: PlannedRound[] = [];
    for (let i = 1; i <= roundsPerTick; i++)
      rounds.push({ time: start + ((end - start) * i) / roundsPerTick, tie: undefined });
    for (;;) {
      const tie = this.shardTies[this.nextTie];
      if (tie === undefined || tie.second > Math.floor(end)) break;
      this.nextTie++;
      const at = rounds.findIndex((round) => Math.floor(round.time) >= tie.second && round.tie === undefined);
      rounds.splice(at === -1 ? rounds.length : at, 0, { time: tie.second, tie });
    }
    return rounds;
  }
}
