import type { World } from '../chain/world.ts';
import { mix32 } from '../../random.ts';

/** Validators of every cycle. */
export const VALIDATORS = 24;
/** Shares of a cycle: when stakes for the next one are taken, and until when. */
const OPENS = 0.3;
const CLOSES = 0.8;
/** Weights are beyond 2^53, and those of all validators together below 2^63. */
const WEIGHT_OF_COIN = 101n;

/** One validator of one cycle, or one that has staked for it. */
export interface Validator {
  readonly index: number;
  /** 64 upper-case hex digits. */
  readonly pubkey: string;
  readonly adnl: string;
  /** Address of a wallet, or of a nominator pool. */
  readonly stakeHolder: string;
  readonly weight: bigint;
  /** Nanotons: all that it has staked. */
  readonly stake: bigint;
}

/** A stake that came with one of the elector's transactions: accepted, or sent back. */
export interface Stake {
  readonly cycle: number;
  readonly utime: number;
  readonly isAccepted: boolean;
  /** Who stakes; its own `stake` is that of this transaction alone. */
  readonly validator: Validator;
}

/** The network's elections: one cycle follows another, each as long, from before the network's start on. */
export class Elections {
  readonly world: World;
  private readonly length: number;
  /** Those accepted for each cycle, in their order. */
  private readonly accepted = new Map<number, Stake[]>();
  /** By the row of the elector's transaction. */
  private readonly stakes = new Map<number, Stake>();
  private seen = 0;

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

  /** The stake that came with one of the elector's transactions; undefined if it gave one back. */
  stakeIn(row: number): Stake | undefined {
    this.extend();
    return this.stakes.get(row);
  }

  /**
   * The validators of a cycle. While its election is open they are those whose stakes were accepted before `at`. An
   * index that has no event of a closed election took it over whole.
   */
  validators(cycle: number, at = Infinity): Validator[] {
    this.extend();
    const totals = new Map<number, bigint>();
    for (const { utime, validator } of this.accepted.get(cycle) ?? [])
      if (utime <= at) totals.set(validator.index, (totals.get(validator.index) ?? 0n) + validator.stake);
    if (totals.size > 0) return [...totals].map(([index, stake]) => this.validator(cycle, index, stake));
    return at < this.closesAt(cycle) ? [] : places.map((index) => this.validator(cycle, index));
  }

  /** Continues the books if the network has grown. */
  private extend(): void {
    const { byLt } = this.world.events.validator_events;
    for (; this.seen < byLt.length; this.seen++) {
      const row = byLt.get(this.seen);
      const utime = this.world.utimeOf(row);
      if (this.isOpen(utime)) this.enter(row, utime);
    }
  }

  /** Each validator stakes once before the first of them adds to its stake. */
  private enter(row: number, utime: number): void {
    const cycle = this.cycleAt(utime) + 1;
    const accepted = this.accepted.get(cycle) ?? [];
    this.accepted.set(cycle, accepted);
    const isAccepted = mix32(row + 3) % 8 !== 0;
    const isFirst = isAccepted && accepted.length < VALIDATORS;
    const { index, stake } = this.validator(cycle, isFirst ? accepted.length : mix32(row) % VALIDATORS);
    const amount = (isAccepted && !isFirst ? stake / 100n : stake) + BigInt(mix32(row + 1));
    const entry = { cycle, utime, isAccepted, validator: this.validator(cycle, index, amount) };
    this.stakes.set(row, entry);
    if (isAccepted) accepted.push(entry);
  }

  private validator(cycle: number, index: number, staked?: bigint): Validator {
    const { world } = this;
    const key = (cycle + 1_000_000) * VALIDATORS + index;
    const { accounts, pools } = world;
    // The first few stake through a pool, as most do.
    const holder = pools[index] ?? accounts.account('wallet', (accounts.groups + index) % accounts.wallets);
    const stake = staked ?? 300_000_000_000_000n + BigInt(mix32(key) % 1_000_000) * 100_000_007n;
    return {
      index,
      pubkey: world.hashes('validator').hex(key),
      adnl: world.hashes('adnl').hex(key),
      stakeHolder: accounts.address(holder),
      weight: stake * WEIGHT_OF_COIN,
      stake,
    };
  }
}

const places = Array.from({ length: VALIDATORS }, (_, index) => index);
