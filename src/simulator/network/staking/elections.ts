import type { World } from '../chain/world.ts';
import { mix32 } from '../../random.ts';

/** Validators of every cycle. */
export const VALIDATORS = 24;
/** Shares of a cycle: when stakes for the next one are taken, and until when. */
const OPENS = 0.3;
const CLOSES = 0.8;
/** Weights are beyond 2^53, and those of all validators together below 2^63. */
const WEIGHT_OF_COIN = 101n;

/** One validator of one cycle. */
export interface Validator {
  readonly index: number;
  /** 64 upper-case hex digits. */
  readonly pubkey: string;
  readonly adnl: string;
  /** Address of a wallet, or of a nominator pool. */
  readonly stakeHolder: string;
  readonly weight: bigint;
  /** Nanotons. */
  readonly stake: bigint;
}

/** The network's elections: one cycle follows another, each as long, from before the network's start on. */
export class Elections {
  readonly world: World;
  private readonly length: number;

  constructor(world: World) {
    this.world = world;
    this.length = world.options.electionSeconds;
  }

  /** The cycle of a second; cycle 0 begins with the network, the ones before it with negative numbers. */
  cycleAt(utime: number): number {
    return Math.floor((utime - this.world.options.start) / this.length);
  }

  /** The id of the election whose validators serve in a cycle: the second in which the cycle begins. */
  idOf(cycle: number): number {
    return this.world.options.start + cycle * this.length;
  }

  /** The second in which a cycle's own row says which election made it: until then nothing can be joined to it. */
  namedAt(cycle: number): number {
    return this.idOf(cycle + 1) + Math.floor(this.length / 4);
  }

  /** The second in which the stakes for a cycle are counted. */
  closesAt(cycle: number): number {
    return this.idOf(cycle - 1) + Math.floor(this.length * CLOSES);
  }

  /** True while stakes for the cycle after the current one are taken. */
  isOpen(utime: number): boolean {
    const share = (utime - this.idOf(this.cycleAt(utime))) / this.length;
    return share >= OPENS && share < CLOSES;
  }

  validator(cycle: number, index: number): Validator {
    const { world } = this;
    const key = (cycle + 1_000_000) * VALIDATORS + index;
    const { accounts, pools } = world;
    // The first few stake through a pool, as most do.
    const holder = pools[index] ?? accounts.account('wallet', (accounts.groups + index) % accounts.wallets);
    const stake = 300_000_000_000_000n + BigInt(mix32(key) % 1_000_000) * 100_000_007n;
    return {
      index,
      pubkey: world.hashes('validator').hex(key),
      adnl: world.hashes('adnl').hex(key),
      stakeHolder: accounts.address(holder),
      weight: stake * WEIGHT_OF_COIN,
      stake,
    };
  }

  validators(cycle: number): Validator[] {
    return Array.from({ length: VALIDATORS }, (_, index) => this.validator(cycle, index));
  }
}
