import { CONFIG, ELECTOR } from '../tables/accounts.ts';
import type { World } from '../world.ts';
import type { Executor } from './executor.ts';
import type { Mailbox } from './mailbox.ts';
import type { Opener } from './opener.ts';
import type { Round } from './round.ts';

/** Nanotons that the protocol emits at a time. */
const EMISSION = 4_000_000_000_000_000;
/** Emissions on their way to one account at a time: a third would take its balance beyond 2^53, where numbers lose nanotons. */
const MOST_EMISSIONS = 2;

/** Makes the transactions of the masterchain that the protocol itself causes. */
export class SpecialTransactions {
  private readonly world: World;
  private readonly executor: Executor;
  private readonly opener: Opener;
  private readonly mailbox: Mailbox;
  /** Emissions since the giver last had enough. */
  private emissions = 0;

  constructor(executor: Executor, opener: Opener, mailbox: Mailbox) {
    this.world = executor.world;
    this.executor = executor;
    this.opener = opener;
    this.mailbox = mailbox;
  }

  /** Makes those of a tick. `emits`: money is emitted where the giver has too little. */
  run(round: Round, block: number, tick: number, { emits }: { readonly emits: boolean }): void {
    if (!this.opener.giverIsPoor) this.emissions = 0;
    else if (emits && tick % 8 === 0 && this.emissions < MOST_EMISSIONS) this.emit(round, block);
    const { tickTockEvery } = this.world.options;
    if (tickTockEvery === 0 || tick % tickTockEvery !== 0) return;
    this.tickElector(round, block, true);
    this.tickElector(round, block, false);
    const trace = this.begin(CONFIG, 'tick_tock');
    this.executor.spontaneous({ round, block, account: CONFIG, trace }, 'tock');
  }

  tickElector(round: Round, block: number, first: boolean): void {
    const turn = { round, block, account: ELECTOR, trace: this.begin(ELECTOR, 'tick_tock') };
    this.executor.spontaneous(turn, first ? 'tick' : 'tock');
  }

  private emit(round: Round, block: number): void {
    const { executor } = this;
    this.emissions += 1;
    const elector = { round, block, account: ELECTOR, trace: this.begin(ELECTOR, 'emission') };
    this.mailbox.park(executor.emission(elector, EMISSION, 1_000_000_000));
    if (executor.states.isActive(CONFIG)) return;
    const config = { round, block, account: CONFIG, trace: this.begin(CONFIG, 'emission') };
    executor.emission(config, 10_000_000_000, 0);
  }

  private begin(account: number, purpose: 'emission' | 'tick_tock'): number {
    return this.world.traces.push({ purpose, actor: account, partner: account, slot: 0, amount: 0 });
  }
}
