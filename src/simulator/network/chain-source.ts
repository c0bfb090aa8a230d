import type { Clock } from '../../clock.ts';
import { ChainLedger } from './ledger/chain-ledger.ts';
import { type ChainOptions, resolveChainOptions } from './chain/options.ts';
import type { Faults } from '../faults.ts';
import type { HeadOptions, ServedNetwork } from '../head.ts';
import type { View } from '../network-view.ts';
import { Visibility } from './ledger/visibility.ts';
import { Generator } from './chain/generate/generator.ts';
import { World } from './chain/world.ts';

/** A generated network whose head is fixed or moves with the wall clock. */
export class ChainSource implements ServedNetwork {
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
    const liveHead =
      options.live === undefined ? undefined : (options.live.head ?? Math.floor(clock.now() / 1000));
    this.chain = new Chain({ ...options, ...missingBounds(options, liveHead) });
    this.base = liveHead ?? options.headTime ?? this.chain.world.options.end;
    this.ledger = new ChainLedger(this.chain.world, faults);
    this.visibility = new Visibility(this.chain.world, faults);
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

/** By default a live network begins an hour before its head, and another one lasts an hour. */
function missingBounds(options: ChainOptions & HeadOptions, liveHead: number | undefined): ChainOptions {
  if (liveHead !== undefined) return options.start === undefined ? { start: liveHead - HOUR } : {};
  return options.headTime === undefined && options.duration === undefined ? { duration: HOUR } : {};
}

const HOUR = 3600;

/** A generated network that grows on demand. Equal options give equal networks, however far each has grown. */
export class Chain {
  readonly world: World;
  private readonly generator: Generator;

  constructor(options: ChainOptions = {}) {
    this.world = new World(resolveChainOptions(options));
    this.generator = new Generator(this.world);
  }

  /** Generates every masterchain block up to a second, or up to the network's end. */
  extendTo(utime: number): this {
    while (!this.generator.isOver && this.generator.nextUtime <= utime) this.generator.step();
    return this;
  }

  /** Generates a finite network whole. */
  extendToEnd(): this {
    return this.extendTo(this.world.options.end);
  }
}
