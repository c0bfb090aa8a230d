import type { Random } from '../../../random.ts';
import type { AccountStates } from './generate-account-states.ts';
import { sharesOf } from '../nft-market.ts';
import { neighbour, poolAt, TON, walletOf, type Asset, type Pool } from '../exchanges.ts';
import { ELECTOR } from '../tables/accounts.ts';
import { NONE } from '../tables/block-table.ts';
import { OUTSIDE, type Op } from '../tables/message-table.ts';
import type { World } from '../world.ts';

/** A message that a transaction wants to send. */
export interface OutgoingMessage {
  readonly op: Op;
  /** An account, or OUTSIDE for a log. */
  readonly to: number;
  /** Nanotons; `rest`: what is left of the value received. */
  readonly value: number | 'rest';
  /** Nanotons that the sender adds out of its own balance. */
  readonly own?: number;
  readonly bounce: boolean;
  readonly extra?: number;
  /** True: the receiver's code does not throw. */
  readonly sure?: boolean;
  /** What a token message moves, and whom it names. */
  readonly amount?: number;
  readonly party?: number;
}

interface Stage {
  readonly world: World;
  readonly states: AccountStates;
  readonly random: Random;
}

/** A message just received by an account that runs its code on it. */
interface Received {
  readonly account: number;
  readonly message: number;
}

const NOTIFY = 10_000_000;
/** What moves an item, and what a contract that sells one is set up with. */
const MOVE = 120_000_000;
/** What the marketplace gets along with an item. */
const LISTING = 400_000_000;
/** Nanotons of a bid that are not given back or passed on: the contract pays its own fees of them. */
const KEPT = 20_000_000;
/** What one of several payments of a pool carries. */
const PAYMENT = 150_000_000;
/** Nanotons that the elector holds at least, once enough was emitted. */
const ELECTOR_HOLDS = 100_000_000_000_000;

/** What a contract answers; the way of every trace after its first transaction. */
export function reactionsTo(stage: Stage, received: Received): OutgoingMessage[] {
  const { world } = stage;
  const trace = world.messages.trace.get(received.message);
  const actor = world.traces.actor.get(trace);
  const excess: OutgoingMessage = { op: 'excess', to: actor, value: 'rest', bounce: false };
  return REACTIONS[world.messages.opOf(received.message)]?.(stage, received, trace, excess) ?? [];
}

type Reaction = (
  stage: Stage,
  received: Received,
  trace: number,
  excess: OutgoingMessage,
) => OutgoingMessage[];

const REACTIONS: Readonly<Partial<Record<Op, Reaction>>> = {
  system: emitted,
  jetton_transfer: jettonLeaves,
  jetton_internal_transfer: jettonArrives,
  bounced: jettonReturns,
  jetton_notify: exchangeIsPaid,
  dex_swap: exchangeSwaps,
  dex_deposit: exchangeIsPaid,
  dex_withdraw: exchangePaysOut,
  jetton_burn: jettonBurns,
  jetton_burn_notification: exchangePaysOut,
  jetton_mint: jettonMint,
  nft_mint: nftMint,
  nft_first_bid: nftMint,
  nft_transfer: nftTransfer,
  nft_ownership_assigned: itemArrives,
  nft_bid: bidden,
  nft_buy: offerEnds,
  nft_cancel: offerEnds,
  nft_finish: offerEnds,
  change_dns: offerEnds,
  nft_update: (_stage, _received, _trace, excess) => [excess],
  tele_start: nameAnswers,
  tele_cancel: nameAnswers,
  call: called,
};

/** The elector passes what the protocol emitted on to the giver, and keeps a part: it holds the stakes. */
function emitted({ world, states }: Stage, { account, message }: Received): OutgoingMessage[] {
  if (account !== ELECTOR) return [];
  const extra = world.messages.extra.get(message);
  const keeps = states.balanceOf(account) < ELECTOR_HOLDS;
  const value = keeps ? Math.floor(world.messages.value.get(message) * 0.975) : 'rest';
  return [{ op: 'empty', to: world.accounts.giver, value, bounce: false, extra }];
}

function jettonBurns({ world, states }: Stage, { account, message }: Received): OutgoingMessage[] {
  const { accounts, messages } = world;
  const amount = messages.amount.get(message);
  states.addTokens(account, -amount);
  const to = accounts.masterOf(account);
  return [{ op: 'jetton_burn_notification', to, value: 'rest', bounce: true, amount }];
}

/** A master mints for the jetton wallet of the partner. */
function jettonMint({ world }: Stage, { message }: Received, trace: number): OutgoingMessage[] {
  const { accounts, messages, traces } = world;
  const to = accounts.jettonWallet(traces.partner.get(trace), traces.slot.get(trace));
  const amount = messages.amount.get(message);
  const party = traces.actor.get(trace);
  return [{ op: 'jetton_internal_transfer', to, value: 'rest', bounce: true, amount, party }];
}

function jettonLeaves({ world, states }: Stage, { account, message }: Received): OutgoingMessage[] {
  const { accounts, messages } = world;
  const [amount, receiver] = [messages.amount.get(message), messages.party.get(message)];
  const to = accounts.jettonWallet(receiver, accounts.jettonSlot(account));
  states.addTokens(account, -amount);
  const party = accounts.jettonWalletOwner(account);
  const sure = accounts.isExchange(receiver);
  return [{ op: 'jetton_internal_transfer', to, value: 'rest', bounce: true, amount, party, sure }];
}

function jettonArrives(
  { world, states, random }: Stage,
  { account, message }: Received,
  _trace: number,
  excess: OutgoingMessage,
): OutgoingMessage[] {
  const { accounts, messages } = world;
  const to = accounts.jettonWalletOwner(account);
  const [amount, party] = [messages.amount.get(message), messages.party.get(message)];
  states.addTokens(account, amount);
  const notify = { op: 'jetton_notify', to, bounce: false, amount, party } as const;
  if (accounts.isExchange(to)) return [{ ...notify, value: 'rest' }];
  if (random.chance(0.3)) return [excess];
  const value = random.chance(0.3) ? 1 : NOTIFY;
  return [{ ...notify, value, bounce: random.chance(0.1) }, excess];
}

/** The receiving jetton wallet has refused what was sent: the sender's has it again. What a master minted is gone. */
function jettonReturns({ world, states }: Stage, { account, message }: Received): [] {
  const { accounts, messages } = world;
  const amount = messages.amount.get(message);
  if (amount === 0 || accounts.role(account) !== 'jetton_wallet') return [];
  states.addTokens(account, amount);
  const owner = accounts.jettonWalletOwner(account);
  if (!accounts.isExchange(owner)) return [];
  const asset = placeOf(poolAt(accounts, owner), accounts.jettonSlot(account));
  states.liquidityOf(owner).reserves[asset] += amount;
  return [];
}

/** A pool has got one of its assets: to swap it, or as a part of a deposit. */
function exchangeIsPaid(
  stage: Stage,
  { account, message }: Received,
  trace: number,
  excess: OutgoingMessage,
): OutgoingMessage[] {
  const { accounts, messages, traces } = stage.world;
  if (!accounts.isExchange(account)) return [];
  const amount = messages.amount.get(message);
  const isTon = messages.opOf(message) === 'dex_deposit';
  const party = isTon ? NONE : messages.source.get(message);
  if (traces.purposeOf(trace) === 'jetton_swap')
    return [{ op: 'dex_swap', to: account, value: 'rest', bounce: true, amount, party }];
  const pool = poolAt(accounts, account);
  const asset = placeOf(pool, isTon ? TON : accounts.jettonSlot(party));
  const minted = stage.states.liquidityOf(account).deposit(trace, asset, amount);
  return minted === undefined ? [excess] : liquidityMinted(stage, pool, minted, excess);
}

/** LP tokens go to the provider's wallet for them. What a position stands for is in its own contract. */
function liquidityMinted(
  { world, states }: Stage,
  { account, hasLp }: Pool,
  amount: number,
  excess: OutgoingMessage,
): OutgoingMessage[] {
  const { accounts } = world;
  const party = excess.to;
  const to = accounts.lpWalletOf(account, party);
  if (hasLp)
    return [{ op: 'jetton_internal_transfer', to, value: 'rest', bounce: true, amount, party, sure: true }];
  states.addTokens(to, amount);
  return [excess];
}

/** The number of an asset in its pool. */
function placeOf({ assets }: Pool, asset: Asset): 0 | 1 {
  return assets[0] === asset ? 0 : 1;
}

/** A pool swaps what it has got, and pays the trader, or the pool through which the swap goes on. */
function exchangeSwaps(
  { world, states }: Stage,
  { account, message }: Received,
  trace: number,
  excess: OutgoingMessage,
): OutgoingMessage[] {
  const { accounts, messages, traces } = world;
  const pool = poolAt(accounts, account);
  const party = messages.party.get(message);
  const given = placeOf(pool, party === NONE ? TON : accounts.jettonSlot(party));
  const amount = states.liquidityOf(account).swap(given, messages.amount.get(message));
  const isLast = traces.amount.get(trace) === account;
  const to = isLast ? excess.to : neighbour(accounts, account).pool.account;
  return [payment(world, pool, { asset: pool.assets[1 - given] ?? TON, amount, to, value: 'rest', isLast })];
}

/** A pool pays for LP tokens that were burned, or for a position that was given up. */
function exchangePaysOut(
  { world, states }: Stage,
  { account, message }: Received,
  _trace: number,
  excess: OutgoingMessage,
): OutgoingMessage[] {
  const { accounts, messages } = world;
  if (!accounts.isExchange(account)) return [excess];
  const pool = poolAt(accounts, account);
  const tokens = messages.amount.get(message);
  if (!pool.hasLp) states.addTokens(accounts.lpWalletOf(account, excess.to), -tokens);
  const shares = states.liquidityOf(account).withdraw(tokens);
  const payments = shares.map((amount, at) =>
    payment(world, pool, {
      asset: pool.assets[at] ?? TON,
      amount,
      to: excess.to,
      value: PAYMENT,
      isLast: true,
    }),
  );
  return [...payments, excess];
}

interface Payment extends Pick<OutgoingMessage, 'to' | 'value'> {
  readonly asset: Asset;
  readonly amount: number;
  /** False: the receiver is a pool that swaps on. */
  readonly isLast: boolean;
}

function payment(
  { accounts }: World,
  pool: Pool,
  { asset, amount, to, value, isLast }: Payment,
): OutgoingMessage {
  if (asset === TON) {
    const op = isLast ? 'dex_payout' : 'dex_swap';
    return { op, to, value, own: amount, bounce: !isLast, amount };
  }
  const wallet = walletOf(accounts, pool, asset);
  return { op: 'jetton_transfer', to: wallet, value, bounce: true, sure: true, amount, party: to };
}

/** The collection makes an item: a plain one on request, a name for its first bidder. */
function nftMint({ world }: Stage, { account }: Received, trace: number): OutgoingMessage[] {
  const { partner, actor } = world.traces;
  const item = partner.get(trace);
  if (account === item) return [];
  return [{ op: 'nft_mint', to: item, value: 'rest', bounce: true, party: actor.get(trace) }];
}

function nftTransfer(
  { world }: Stage,
  { message }: Received,
  _trace: number,
  excess: OutgoingMessage,
): OutgoingMessage[] {
  const { accounts, messages } = world;
  const to = messages.party.get(message);
  const value = to === accounts.marketplace ? LISTING : NOTIFY;
  const party = messages.source.get(message);
  return [{ op: 'nft_ownership_assigned', to, value, bounce: false, party }, excess];
}

/** The marketplace sets up a contract that sells the item that it has got, and passes the item on to it. */
function itemArrives(
  { world }: Stage,
  { account, message }: Received,
  trace: number,
  excess: OutgoingMessage,
): OutgoingMessage[] {
  const { accounts, messages, traces } = world;
  if (account !== accounts.marketplace) return [];
  const item = messages.source.get(message);
  const sale = accounts.sale(item, traces.slot.get(trace));
  const seller = messages.party.get(message);
  const amount = traces.amount.get(trace);
  return [
    { op: 'nft_sale', to: sale, value: MOVE, bounce: false, amount, party: seller },
    moved(item, sale),
    excess,
  ];
}

/** A contract passes the item that it sells on, to a buyer at a price. */
function moved(item: number, party: number, amount = 0): OutgoingMessage {
  return { op: 'nft_transfer', to: item, value: MOVE, bounce: true, sure: true, amount, party };
}

/** The contract keeps a bid, and refunds the one before. */
function bidden({ states }: Stage, { account }: Received): OutgoingMessage[] {
  const { bidder = NONE, bid = 0 } = states.market.offers.get(account) ?? {};
  return bid === 0 ? [] : [paid('nft_outbid', bidder, bid - KEPT)];
}

/** An offer is over: the item goes to its buyer and the price to its seller, or the item goes back. */
function offerEnds(
  { world, states }: Stage,
  { account, message }: Received,
  _trace: number,
  excess: OutgoingMessage,
): OutgoingMessage[] {
  const { accounts, messages } = world;
  const offer = states.market.offers.get(account);
  if (offer === undefined) return [];
  const { kind, item, seller, bid, bidder, least } = offer;
  if (kind === 'domain') return [paid('fill_up', accounts.collection(item), bid - KEPT), excess];
  const isBuy = messages.opOf(message) === 'nft_buy';
  const [price, buyer] = isBuy ? [least, messages.source.get(message)] : [bid, bidder];
  const { fee, royalty } = sharesOf(offer, price);
  const author = accounts.author(item);
  if (kind === 'username') {
    const payout = paid('fill_up', seller === NONE ? accounts.marketplace : seller, bid - royalty - KEPT);
    const shares = royalty === 0 ? [payout] : [paid('fill_up', author, royalty), payout];
    const assigned = { to: buyer, value: NOTIFY, bounce: false, amount: bid, party: seller };
    return bid === 0 ? [excess] : [...shares, { op: 'nft_ownership_assigned', ...assigned }];
  }
  if (price === 0) return [moved(item, seller), excess];
  return [
    paid('nft_payout', seller, price - fee - royalty),
    paid('empty', accounts.marketplace, fee),
    ...(royalty === 0 ? [] : [paid('empty', author, royalty)]),
    moved(item, buyer, price),
  ];
}

function paid(op: Op, to: number, own: number): OutgoingMessage {
  return { op, to, value: 0, own, bounce: false };
}

/** A user name is put up for auction by its owner, or taken back. */
function nameAnswers(
  _stage: Stage,
  _received: Received,
  _trace: number,
  { to }: OutgoingMessage,
): OutgoingMessage[] {
  return [{ op: 'tele_ok', to, value: 'rest', bounce: false }];
}

function called(
  { random }: Stage,
  _received: Received,
  _trace: number,
  excess: OutgoingMessage,
): OutgoingMessage[] {
  const log: OutgoingMessage = { op: 'log', to: OUTSIDE, value: 0, bounce: false };
  return random.chance(0.6) ? [log, excess] : [excess];
}
