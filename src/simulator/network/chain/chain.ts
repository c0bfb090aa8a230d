import { Generator } from './generate/generator.ts';
import { resolveChainOptions, type ChainOptions } from './options.ts';
import { World } from './world.ts';

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
