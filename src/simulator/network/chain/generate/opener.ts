import type { Random } from '../../../random.ts';
import type { Executor } from './executor.ts';
import { firstPrice, neighbour, poolAt, TON as COINS, type Asset, type Pool } from '../exchanges.ts';
import { NAMES, POOLS, PROVIDERS, type Accounts } from '../tables/accounts.ts';
import { leastBid, type Offer } from '../nft-market.ts';
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
  /** Names what is done only once. */
  readonly step?: string;
}

/** Which of its providers puts assets into a pool first: another one for each pool of a group. */
function founderOf(accounts: Accounts, { account }: Pool): number {
  return Math.floor(accounts.indexInRole(account) / accounts.groups) % PROVIDERS;
}

/** An asset on its way to a pool. */
interface Payout {
  readonly pool: Pool;
  readonly actor: number;
  readonly asset: Asset;
  readonly amount: number;
  /** True if it is a part of a deposit. */
  readonly stays: boolean;
}

/** Begins traces: decides which wallet does what, as the people behind the wallets do. */
export class Opener {
  private readonly executor: Executor;
  private readonly random: Random;
  /** Wallets up to this index have been given money at least once. */
  private funded = 0;
  /** What was done to set pools up. */
  private readonly steps = new Set<string>();
  /** The second of the round in which traces begin. */
  private now = 0;

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
    this.now = round.utime;
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
    if (intent.step !== undefined) this.steps.add(intent.step);
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
    const first = this.accounts.exchanges;
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
    const wallet = this.accounts.jettonWallet(actor, slot);
    const held = this.executor.states.tokensOf(wallet);
    const partner = this.sameGroup(actor);
    if (held < 1000 || partner === actor) return this.setUp(actor) ?? this.mint(actor, slot);
    const amount = 1 + Math.floor(held * 0.3 * this.random.fraction());
    const out = this.outgoing('jetton_transfer', wallet, TON / 5, true);
    return { purpose: 'jetton_transfer', actor, partner, slot, outs: [{ ...out, amount, party: partner }] };
  }

  private mint(actor: number, slot: number, least = 0): Intent {
    const amount = Math.max(least, 1_000_000 + this.random.below(1_000_000_000) * 100);
    const out = this.outgoing('jetton_mint', this.accounts.jettonMaster(actor, slot), TON / 5, true);
    return { purpose: 'jetton_mint', actor, partner: actor, slot, outs: [{ ...out, amount }] };
  }

  /** A trade with one of the pools of the group, or what its providers do. */
  private swap(actor: number): Intent {
    const { states } = this.executor;
    const pool = poolAt(this.accounts, this.accounts.exchange(actor, this.random.below(POOLS)));
    if (!states.isActive(pool.account)) return this.jettonTransfer(actor);
    if (states.liquidityOf(pool.account).supply === 0) return this.setUp(actor) ?? this.jettonTransfer(actor);
    const dice = this.random.fraction();
    // Who was first has most to take out.
    const withdraws = dice < 0.06;
    const place = withdraws ? founderOf(this.accounts, pool) : this.random.below(PROVIDERS);
    const provided = dice < 0.12 ? this.provide(pool, place, withdraws) : undefined;
    return provided ?? this.trade(pool, actor) ?? this.jettonTransfer(actor);
  }

  /** The next step towards the first deposit into one of the pools of a group; each step is done once. */
  private setUp(actor: number): Intent | undefined {
    const { states } = this.executor;
    for (let place = 0; place < POOLS; place++) {
      const pool = poolAt(this.accounts, this.accounts.exchange(actor, place));
      if (!states.isActive(pool.account) || states.liquidityOf(pool.account).supply > 0) continue;
      const intent = this.provide(pool, founderOf(this.accounts, pool), false);
      const step = `${pool.account} ${String(intent?.purpose)} ${String(intent?.slot)}`;
      if (intent !== undefined && !this.steps.has(step)) return { ...intent, step };
    }
    return undefined;
  }

  /** A provider puts both assets into a pool, or takes a share out; undefined if it cannot. */
  private provide(pool: Pool, place: number, withdraws: boolean): Intent | undefined {
    const { states } = this.executor;
    const actor = this.accounts.provider(pool.account, place);
    if (!states.isActive(actor) || states.balanceOf(actor) < 10 * TON) return undefined;
    if (withdraws) return this.withdraw(pool, actor, this.accounts.lpWalletOf(pool.account, actor));
    const amounts = this.provision(pool, actor);
    const poor = pool.assets.findIndex((asset, at) => this.heldBy(actor, asset) < (amounts[at] ?? 0));
    const lacks = pool.assets[poor];
    if (lacks === COINS || amounts.some((amount) => amount < 1000)) return undefined;
    if (lacks !== undefined) return this.mint(actor, lacks, (amounts[poor] ?? 0) * 3);
    const outs = pool.assets.map((asset, at) =>
      this.given({ pool, actor, asset, amount: amounts[at] ?? 0, stays: true }),
    );
    return { purpose: 'dex_deposit', actor, partner: pool.account, outs };
  }

  /** How much of both assets is put into a pool: by its reserves, and at first by the first prices. */
  private provision(pool: Pool, actor: number): number[] {
    const { reserves, supply } = this.executor.states.liquidityOf(pool.account);
    const coins = this.heldBy(actor, COINS);
    if (supply === 0) {
      const worth = Math.floor(coins * 0.4);
      return pool.assets.map((asset) => Math.ceil(worth / firstPrice(this.accounts, pool, asset)));
    }
    const [one, two] = reserves;
    const share = 0.02 + 0.1 * this.random.fraction();
    const part = pool.assets[1] === COINS ? Math.min(share, (coins * 0.3) / two) : share;
    return [Math.ceil(one * part), Math.ceil(two * part)];
  }

  private withdraw(pool: Pool, actor: number, wallet: number): Intent | undefined {
    const held = this.executor.states.tokensOf(wallet);
    if (held < 1_000_000) return undefined;
    const amount = 1 + Math.floor(held * 0.3 * this.random.fraction());
    const out = pool.hasLp
      ? this.outgoing('jetton_burn', wallet, (TON * 3) / 5, true)
      : this.outgoing('dex_withdraw', pool.account, (TON * 3) / 5, true);
    return { purpose: 'dex_withdraw', actor, partner: pool.account, outs: [{ ...out, amount }] };
  }

  /** A swap with a pool, or on through its neighbour; undefined if the trader holds nothing to swap. */
  private trade(pool: Pool, actor: number): Intent | undefined {
    const { account, dex, assets } = pool;
    const { states } = this.executor;
    const onward = neighbour(this.accounts, account);
    const sharedIn = (one: Pool): number =>
      states.liquidityOf(one.account).reserves[one.assets[0] === onward.shared ? 0 : 1];
    // A much smaller pool would lose most of its reserve.
    const isOpen = dex !== 'stonfi' && sharedIn(onward.pool) * 2 > sharedIn(pool);
    const goesOn = this.random.chance(0.25) && isOpen;
    const first = goesOn ? 1 - assets.indexOf(onward.shared) : this.dearer(pool);
    const share = this.random.fraction();
    const amountOf = (place: number): number => {
      const most = states.liquidityOf(account).reserves[place] ?? 0;
      return Math.floor(Math.min(this.heldBy(actor, assets[place] ?? COINS) * 0.2, most * 0.03) * share);
    };
    const place = amountOf(first) >= 1000 ? first : 1 - first;
    const amount = amountOf(place);
    if (amount < 1000) return undefined;
    const outs = [this.given({ pool, actor, asset: assets[place] ?? COINS, amount, stays: false })];
    const last = goesOn && place === first ? onward.pool.account : account;
    return { purpose: 'jetton_swap', actor, partner: account, amount: last, outs };
  }

  /** Which asset is swapped for the other: more often the one that costs more than at first, so prices come back. */
  private dearer(pool: Pool): number {
    const { reserves } = this.executor.states.liquidityOf(pool.account);
    const [one = 0, two = 0] = reserves.map(
      (held, at) => (held * firstPrice(this.accounts, pool, pool.assets[at] ?? COINS)) ** 2,
    );
    return this.random.chance(two / (one + two)) ? 0 : 1;
  }

  private heldBy(actor: number, asset: Asset): number {
    const { states } = this.executor;
    if (asset === COINS) return Math.max(0, states.balanceOf(actor) - 3 * TON);
    return states.tokensOf(this.accounts.jettonWallet(actor, asset));
  }

  /** The message with which a wallet gives an asset to a pool, to be swapped or to stay. */
  private given({ pool, actor, asset, amount, stays }: Payout): OutgoingMessage {
    const op = stays ? 'dex_deposit' : 'dex_swap';
    if (asset === COINS) return { ...this.outgoing(op, pool.account, amount + TON / 2, true), amount };
    const wallet = this.accounts.jettonWallet(actor, asset);
    const out = this.outgoing('jetton_transfer', wallet, TON / 2, true);
    return { ...out, amount, party: pool.account, sure: stays };
  }

  private burn(actor: number): Intent {
    const slot = this.random.below(2);
    const held = this.executor.states.tokensOf(this.accounts.jettonWallet(actor, slot));
    if (held < 1000) return this.jettonTransfer(actor);
    const amount = 1 + Math.floor(held * 0.1 * this.random.fraction());
    const out = this.outgoing('jetton_burn', this.accounts.jettonWallet(actor, slot), TON / 10, true);
    return { purpose: 'jetton_burn', actor, slot, outs: [{ ...out, amount }] };
  }

  /** A wallet makes an item, trades it or bids for it: a plain one, a domain, or a user name. */
  private nft(actor: number): Intent {
    const { market } = this.executor.states;
    const name = this.random.below(2 * NAMES);
    const isName = this.random.chance(0.3);
    const plain = Math.floor(this.accounts.wallets * this.random.fraction() ** 2.5);
    const item = this.accounts.account('nft_item', isName ? this.accounts.wallets + name : plain);
    const place = market.placeOf(item);
    const offer = market.offers.get(place ?? NONE);
    if (offer?.state === 'open') return this.visit(actor, place ?? item, offer) ?? this.plainTransfer(actor);
    const owner = market.ownerOf(item);
    if (owner === undefined) return this.mintItem(actor, item);
    return this.ownItem(owner, item, actor) ?? this.plainTransfer(actor);
  }

  private mintItem(actor: number, item: number): Intent {
    const kind = this.accounts.kindOf(item);
    const value = kind === 'plain' ? TON / 5 : TON + this.random.below(3 * TON);
    const op = kind === 'domain' ? 'nft_first_bid' : 'nft_mint';
    const maker = this.accounts.hasCollection(item) ? this.accounts.collection(item) : item;
    return this.traded(actor, item, { ...this.outgoing(op, maker, value, true), party: actor });
  }

  private traded(actor: number, item: number, out: OutgoingMessage, more: Partial<Intent> = {}): Intent {
    return { purpose: 'nft_trade', actor, partner: item, ...more, outs: [out] };
  }

  /** The owner of an item offers it, or gives it to another wallet; undefined if it cannot. */
  private ownItem(owner: number, item: number, receiver: number): Intent | undefined {
    if (!this.canAct(owner)) return undefined;
    const { accounts, random } = this;
    const dice = random.fraction();
    if (dice < 0.3 && accounts.kindOf(item) === 'username')
      return this.traded(owner, item, { ...this.outgoing('tele_start', item, TON / 10, true), amount: TON });
    const out = this.outgoing('nft_transfer', item, TON / 10, true);
    const slot = [0, 1].find((turn) => !this.executor.states.isActive(accounts.sale(item, turn)));
    if (dice > 0.7 || slot === undefined)
      return this.traded(owner, item, { ...out, party: receiver }, { purpose: 'nft_transfer' });
    const amount = (1 + random.below(99)) * (TON / 20);
    const listed = { ...out, value: (TON * 3) / 5, party: accounts.marketplace };
    return this.traded(owner, item, listed, { slot, amount, purpose: 'nft_transfer' });
  }

  private canAct(wallet: number): boolean {
    const { states } = this.executor;
    const isWallet = this.accounts.role(wallet) === 'wallet';
    return isWallet && states.isActive(wallet) && states.balanceOf(wallet) > LEAST_TO_ACT;
  }

  /** The next step of an offer; undefined if the wallet that has to take it cannot act. */
  private visit(visitor: number, place: number, offer: Offer): Intent | undefined {
    const { item, kind, seller, least, end, bid, bidder } = offer;
    const dice = this.random.fraction();
    const deed = (actor: number, op: Op, value: number, amount = 0): Intent | undefined => {
      const able = this.canAct(actor) && this.executor.states.balanceOf(actor) > value + LEAST_TO_ACT;
      if (!able) return undefined;
      return this.traded(actor, item, { ...this.outgoing(op, place, value, true), amount });
    };
    const fee = (TON * 3) / 10;
    if (kind !== 'sale' && this.now > end)
      return deed(bid > 0 ? bidder : seller, kind === 'domain' ? 'change_dns' : 'nft_finish', fee);
    if (dice < 0.2 && bid === 0) return deed(seller, kind === 'username' ? 'tele_cancel' : 'nft_cancel', fee);
    if (visitor === seller || visitor === bidder) return undefined;
    if (kind !== 'sale') return deed(visitor, 'nft_bid', leastBid(offer) + this.random.below(TON));
    if (dice < 0.35) return deed(seller, 'nft_update', fee, Math.ceil(least * 0.9));
    return deed(visitor, 'nft_buy', least + fee, least);
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

  /** Another wallet that holds the same jettons, and is no pool. */
  sameGroup(actor: number): number {
    const index = this.accounts.indexInRole(actor);
    const { groups, wallets, exchanges } = this.accounts;
    const steps = 1 + this.random.below(Math.max(1, Math.floor(wallets / groups) - 1));
    const other = (index + steps * groups) % (Math.floor(wallets / groups) * groups);
    return other % groups === index % groups && other >= exchanges
      ? this.accounts.account('wallet', other)
      : actor;
  }
}
