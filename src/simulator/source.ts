import type { Clock } from '../clock.ts';
import { ChainLedger } from './chain-ledger.ts';
import { Chain } from './chain/chain.ts';
import type { ChainOptions } from './chain/options.ts';
import type { Faults } from './faults.ts';
import type { Ledger, View } from './ledger.ts';
import { Visibility } from './visibility.ts';

/** How the head of a generated network moves. */
export interface HeadOptions {
  /** A head that stands still, unix seconds; default the network's end. A simulator's `headTime` can be moved by hand. */
  readonly headTime?: number;
  /** A head that moves with the wall clock. */
  readonly live?: {
    /** Chain time at the simulator's start, unix seconds; default the wall clock's. */
    readonly head?: number;
    /** Chain seconds a wall second; default 1. */
    readonly speed?: number;
  };
}

/** Data to serve, and what of them is visible now. */
export interface Source {
  readonly ledger: Ledger;
  /** What a replica shows whose data are `staleSeconds` behind. */
  view(staleSeconds: number): View;
  /** Chain time of the head, unix seconds. */
  headTime: number;
}

/** A generated network whose head stands still or moves with the wall clock. */
export class ChainSource implements Source {
  readonly chain: Chain;
  readonly ledger: ChainLedger;
  private readonly visibility: Visibility;
  private readonly clock: Clock;
  private readonly speed: number;
  private base: number;
  private baseAt: number;

  constructor(options: ChainOptions & HeadOptions, faults: Faults, clock: Clock) {
    this.clock = clock;
    this.speed = options.live === undefined ? 0 : (options.live.speed ?? 1);
    this.baseAt = clock.monotonic();
    const wall = Math.floor(clock.now() / 1000);
    const liveHead = options.live === undefined ? undefined : (options.live.head ?? wall);
    const start = options.start ?? (liveHead === undefined ? undefined : liveHead - 3600);
    const finite =
      options.live === undefined && options.headTime === undefined && options.duration === undefined;
    this.chain = new Chain({
      ...options,
      ...(start === undefined ? {} : { start }),
      ...(finite ? { duration: 3600 } : {}),
    });
    const { world } = this.chain;
    this.base = liveHead ?? options.headTime ?? world.options.end;
    this.ledger = new ChainLedger(world);
    this.visibility = new Visibility(world, faults);
    this.chain.extendTo(this.base);
  }

  get headTime(): number {
    return this.base + ((this.clock.monotonic() - this.baseAt) / 1000) * this.speed;
  }

  set headTime(utime: number) {
    this.base = utime;
    this.baseAt = this.clock.monotonic();
  }

  view(staleSeconds: number): View {
    const head = this.headTime - staleSeconds;
    this.chain.extendTo(this.headTime);
    return this.visibility.at(head);
  }
}
