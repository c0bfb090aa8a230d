import type { Random } from '../../../random.ts';
import type { Executor } from './executor.ts';
import { NONE } from '../tables/block-table.ts';
import type { Op } from '../tables/message-table.ts';
import { DEEDS, type Deed } from '../options.ts';
import type { OutgoingMessage } from './reactions.ts';
import type { Round } from './round.ts';
import type { Draft } from '../tables/transaction-table.ts';
import type { Purpose } from '../tables/trace-table.ts';

const TON = 1_000_000_000;
const GIVER_RESERVE = 2_000 * TON;
/** Below this a wallet starts nothing that costs money. */
const LEAST_TO_ACT = 1.5 * TON;

/** An actor's intention, with the messages for it. */
export interface Intent {
  readonly purpose: Purpose;
  readonly actor: number;
  readonly partner?: number;
  readonly slot?: number;
  readonly amount?: number;
  readonly outs: readonly OutgoingMessage[];
}

/** Begins traces: decides which wallet does what, as the people behind the wallets do. */
export class Opener {
  private readonly executor: Executor;
  private readonly random: Random;
  /** Wallets up to this index have been given money at least once. */
  private funded = 0;

  constructor(executor: Executor, random: Random) {
    this.executor = executor;
    this.random = random;
  }

  get fundedWallets(): number {
    return this.funded;
  }

  get giverIsPoor(): boolean {
    return this.executor.states.balanceOf(this.accounts.giver) < 400_000 * TON;
  }

  /** Begins one trace in an open block; undefined if no account in one could act. */
  begin(round: Round): Draft | undefined {
    const wallet = this.pickWallet();
    if (wallet === undefined || (this.funded < this.accounts.wallets && this.random.chance(0.12)))
      return this.fund(round);
    const { states } = this.executor;
    const status = states.statusOf(wallet);
    if (status === 'frozen' || status === 'nonexist') return this.refund(round, wallet);
    if (states.balanceOf(wallet) < LEAST_TO_ACT) return this.refund(round, wallet);
    if (this.random.chance(0.002)) return this.sweep(round, wallet);
    if (this.random.chance(0.0015)) return this.oddity(round, wallet);
    return this.run(round, this.deed(wallet));
  }

  /** The giver accepts a message and sends nothing: possible whenever it exists. */
  idle(round: Round): Draft | undefined {
    return this.run(round, { purpose: 'oddity', actor: this.accounts.giver, outs: [] });
  }

  /** A wallet's plain transfer, for seconds in which many wallets must act at one lt. */
  transferBy(round: Round, wallet: number): Draft | undefined {
    const { states } = this.executor;
    if (states.statusOf(wallet) === 'nonexist' || states.balanceOf(wallet) < TON / 5) return undefined;
    return this.run(round, { purpose: 'transfer', actor: wallet, outs: [this.transfer(TON / 20)] });
  }

  /** Gives money to wallets that never had any. */
  fund(round: Round, size = 4 + this.random.below(24)): Draft | undefined {
    const { wallets, giver } = this.accounts;
    const count = Math.min(size, wallets - this.funded, 250);
    if (count <= 0) return undefined;
    const first = this.funded;
    const outs = Array.from({ length: count }, (_, index) =>
      this.gift(this.accounts.account('wallet', first + index)),
    );
    const draft = this.run(round, { purpose: 'fund', actor: giver, outs });
    if (draft !== undefined) this.funded += count;
    return draft;
  }

  private get accounts(): Executor['world']['accounts'] {
    return this.executor.world.accounts;
  }

  private refund(round: Round, wallet: number): Draft | undefined {
    return this.run(round, { purpose: 'fund', actor: this.accounts.giver, outs: [this.gift(wallet)] });
  }

  private gift(wallet: number): OutgoingMessage {
    const most = Math.min(500 * TON, (3_000_000 * TON) / this.accounts.wallets);
    const value = Math.floor(most * (0.2 + 0.8 * this.random.fraction()));
    const plenty = this.executor.states.extraOf(this.accounts.giver) > 100_000_000;
    const extra = plenty && this.random.chance(0.03) ? 1000 + this.random.below(100_000) : 0;
    return { op: 'empty', to: wallet, value, bounce: false, extra };
  }

  /** Begins a trace; undefined if the actor has no open block, or not the money. */
  run(round: Round, intent: Intent): Draft | undefined {
    const { world, states } = this.executor;
    const { actor } = intent;
    const block = round.blockFor(world.accounts.prefix(actor));
    if (block === NONE) return undefined;
    const cost = intent.outs.reduce(
      (sum, out) => sum + (out.value === 'rest' ? 0 : out.value + 400_000),
      TON / 50,
    );
    const reserve = actor === world.accounts.giver ? GIVER_RESERVE : 0;
    if (states.balanceOf(actor) < cost + reserve) return undefined;
    const turn = { round, block, account: actor, trace: this.trace(intent) };
    return this.executor.external(turn, intent.outs);
  }

  private trace(intent: Omit<Intent, 'outs'>): number {
    const { purpose, actor, partner = actor, slot = 0, amount = 0 } = intent;
    return this.executor.world.traces.push({ purpose, actor, partner, slot, amount });
  }

  private sweep(round: Round, wallet: number): Draft | undefined {
    const block = round.blockFor(this.accounts.prefix(wallet));
    if (block === NONE || this.accounts.isExchange(wallet)) return undefined;
    const target = this.pickWallet() ?? this.accounts.giver;
    if (target === wallet || !this.executor.states.isActive(wallet)) return undefined;
    const trace = this.trace({ purpose: 'sweep', actor: wallet, partner: target });
    return this.executor.sweep({ round, block, account: wallet, trace }, target);
  }

  private oddity(round: Round, wallet: number): Draft | undefined {
    const block = round.blockFor(this.accounts.prefix(wallet));
    if (block === NONE || !this.executor.states.isActive(wallet)) return undefined;
    const kind = this.random.chance(0.5) ? 'split_prepare' : 'storage';
    const trace = this.trace({ purpose: 'oddity', actor: wallet });
    return this.executor.spontaneous({ round, block, account: wallet, trace }, kind);
  }

  /** Some wallets act far more often than others. */
  private pickWallet(): number | undefined {
    const first = this.accounts.groups;
    if (this.funded <= first) return undefined;
    const index = first + Math.floor((this.funded - first) * this.random.fraction() ** 1.6);
    return this.accounts.account('wallet', index);
  }

  private deed(actor: number): Intent {
    const { mix } = this.executor.world.options;
    const all = DEEDS.reduce((sum, deed) => sum + mix[deed], 0);
    let dice = this.random.fraction() * all;
    const deed = DEEDS.find((candidate) => (dice -= mix[candidate]) < 0) ?? 'deploy';
    return this.intents[deed](actor);
  }

  private readonly intents: Readonly<Record<Deed, (actor: number) => Intent>> = {
    transfer: (actor) => this.plainTransfer(actor),
    jetton_transfer: (actor) => this.jettonTransfer(actor),
    swap: (actor) => this.swap(actor),
    burn: (actor) => this.burn(actor),
    nft: (actor) => this.nft(actor),
    call: (actor) => this.call(actor),
    batch: (actor) => this.batch(actor),
    deploy: (actor) => ({
      purpose: 'deploy',
      actor,
      outs: [this.outgoing('deploy', this.pickContract(), TON / 10, true)],
    }),
  };

  private outgoing(op: Op, to: number, value: number, bounce: boolean): OutgoingMessage {
    return { op, to, value, bounce };
  }

  private transfer(value: number): OutgoingMessage {
    const to = this.pickWallet() ?? this.accounts.giver;
    const op = this.random.chance(0.5)
      ? 'text_comment'
      : this.random.chance(0.1)
        ? 'encrypted_comment'
        : 'empty';
    return this.outgoing(op, to, value, this.random.chance(0.3));
  }

  private plainTransfer(actor: number): Intent {
    const { states } = this.executor;
    const value = Math.floor((states.balanceOf(actor) - TON) * 0.2 * this.random.fraction()) + 1;
    const extra = states.extraOf(actor) > 100 && this.random.chance(0.3) ? 1 + this.random.below(100) : 0;
    const out = { ...this.transfer(value), extra };
    return { purpose: 'transfer', actor, partner: out.to, outs: [out] };
  }

  private batch(actor: number): Intent {
    const count = 3 + this.random.below(12);
    const each = Math.floor((this.executor.states.balanceOf(actor) - TON) / 100);
    return { purpose: 'batch', actor, outs: Array.from({ length: count }, () => this.transfer(each)) };
  }

  private jettonTransfer(actor: number): Intent {
    const slot = this.random.below(2);
    const held = this.executor.states.tokensOf(this.accounts.jettonWallet(actor, slot));
    const partner = this.sameGroup(actor);
    if (held < 1000 || partner === actor) return this.mint(actor, actor, slot);
    const amount = 1 + Math.floor(held * 0.3 * this.random.fraction());
    const out = this.outgoing('jetton_transfer', this.accounts.jettonWallet(actor, slot), TON / 5, true);
    return { purpose: 'jetton_transfer', actor, partner, slot, amount, outs: [out] };
  }

  private mint(actor: number, receiver: number, slot: number): Intent {
    const out = this.outgoing('jetton_mint', this.accounts.jettonMaster(receiver, slot), TON / 5, true);
    const amount = 1_000_000 + this.random.below(1_000_000_000) * 100;
    return { purpose: 'jetton_mint', actor, partner: receiver, slot, amount, outs: [out] };
  }

  private swap(actor: number): Intent {
    const partner = this.accounts.exchange(actor);
    const { states } = this.executor;
    const held = states.tokensOf(this.accounts.jettonWallet(actor, 0));
    if (states.tokensOf(this.accounts.jettonWallet(partner, 1)) < 100_000_000_000)
      return this.mint(actor, partner, 1);
    if (held < 1000 || !states.isActive(partner)) return this.jettonTransfer(actor);
    const amount = 1 + Math.floor(held * 0.2 * this.random.fraction());
    const out = this.outgoing('jetton_transfer', this.accounts.jettonWallet(actor, 0), (TON * 2) / 5, true);
    return { purpose: 'jetton_swap', actor, partner, slot: 0, amount, outs: [out] };
  }

  private burn(actor: number): Intent {
    const slot = this.random.below(2);
    const held = this.executor.states.tokensOf(this.accounts.jettonWallet(actor, slot));
    if (held < 1000) return this.jettonTransfer(actor);
    const amount = 1 + Math.floor(held * 0.1 * this.random.fraction());
    const out = this.outgoing('jetton_burn', this.accounts.jettonWallet(actor, slot), TON / 10, true);
    return { purpose: 'jetton_burn', actor, slot, amount, outs: [out] };
  }

  private nft(actor: number): Intent {
    const item = this.accounts.account(
      'nft_item',
      Math.floor(this.accounts.wallets * this.random.fraction() ** 2),
    );
    const owner = this.executor.states.ownerOf(item);
    if (owner === -1) {
      const out = this.outgoing('nft_mint', this.accounts.collection(item), TON / 5, true);
      return { purpose: 'nft_mint', actor, partner: item, outs: [out] };
    }
    const able = this.executor.states.isActive(owner) && this.executor.states.balanceOf(owner) > LEAST_TO_ACT;
    if (!able) return this.plainTransfer(actor);
    const out = this.outgoing('nft_transfer', item, TON / 10, true);
    return { purpose: 'nft_transfer', actor: owner, partner: item, amount: actor, outs: [out] };
  }

  private call(actor: number): Intent {
    const contract = this.pickContract();
    const value = TON / 10 + this.random.below(TON / 2);
    return {
      purpose: 'call',
      actor,
      partner: contract,
      outs: [this.outgoing('call', contract, value, true)],
    };
  }

  private pickContract(): number {
    return this.accounts.account('contract', this.random.below(this.accounts.contracts));
  }

  /** Another wallet that holds the same jettons. */
  sameGroup(actor: number): number {
    const index = this.accounts.indexInRole(actor);
    const { groups, wallets } = this.accounts;
    const steps = 1 + this.random.below(Math.max(1, Math.floor(wallets / groups) - 1));
    const other = this.accounts.account(
      'wallet',
      (index + steps * groups) % (Math.floor(wallets / groups) * groups),
    );
    return this.accounts.indexInRole(other) % groups === index % groups ? other : actor;
  }
}
