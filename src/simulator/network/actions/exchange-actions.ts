import { jettonAmount } from '../../json/payload.ts';
import { mix32 } from '../../random.ts';
import { poolAt, wasTaken, type Dex } from '../chain/exchanges.ts';
import { NONE } from '../chain/tables/block-table.ts';
import type { World } from '../chain/world.ts';
import { succeeded, type Leg, type NetworkAction } from './made-action.ts';
import { jettonBurn, jettonTransfers, simple } from './token-actions.ts';

/** The jetton as which STON.fi v1 moves TON: the server names it as the asset. */
const PROXY_TON = '0:8CDC1D7640AD5EE326527FC1AD0514F468B30DC84B0173F0E155F451B4E11F7C';

/** A swap, if the trader was paid; else what is left of it. */
export function swap(leg: Leg): NetworkAction[] {
  const { world } = leg;
  const there = jettonTransfers(leg);
  const payment = leg.transactions.find((row) => isPayment(leg, row));
  if (payment === undefined || !succeeded(leg) || !wasTaken(world, payment)) return there.slice(0, 1);
  const made: NetworkAction = {
    type: 'jetton_swap',
    ancestors: [],
    transactions: leg.transactions,
    success: true,
    details: () => swapDetails(leg, world.transactions.inMessage.get(payment)),
  };
  return [made, ...jettonTransfers(leg, ['jetton_swap'])];
}

/** True for the transaction that a pool's payment to the trader started. */
function isPayment({ world, trace }: Leg, row: number): boolean {
  const { messages, traces, transactions } = world;
  const message = transactions.inMessage.get(row);
  const op = message === NONE ? 'empty' : messages.opOf(message);
  const isTransfer = op === 'jetton_transfer' && messages.party.get(message) === traces.actor.get(trace);
  return op === 'dex_payout' || isTransfer;
}

function swapDetails(leg: Leg, payment: number): object {
  const { world, trace } = leg;
  const { accounts, traces } = world;
  const [first, last] = [traces.partner.get(trace), traces.amount.get(trace)];
  const { dex } = poolAt(accounts, first);
  const actor = traces.actor.get(trace);
  const incoming = swapTransfer(world, leg.message, { dex, from: actor, to: first });
  const outgoing = swapTransfer(world, payment, { dex, from: last, to: actor });
  const isRouted = first !== last;
  const assetOut = isUnknown(trace, dex, isRouted) && outgoing.isJetton ? null : outgoing.value.asset;
  const between = isRouted ? valueBetween(leg, last) : undefined;
  return {
    dex,
    sender: incoming.value.source,
    asset_in: incoming.value.asset,
    asset_out: assetOut,
    dex_incoming_transfer: incoming.value,
    dex_outgoing_transfer: { ...outgoing.value, asset: assetOut },
    // The server knows no legs of a swap on STON.fi v1.
    peer_swaps:
      between === undefined ? [] : [peerSwap(incoming.value, between), peerSwap(between, outgoing.value)],
    ...(dex === 'tonco' ? { min_out_amount: mix32(trace) % 2 === 0 ? outgoing.value.amount : null } : {}),
  };
}

/** The server looks the asset that a pool gave up by the jetton wallet, and does not know each of them. */
function isUnknown(trace: number, dex: Dex, isRouted: boolean): boolean {
  const isLookedUp = dex === 'stonfi' || (dex === 'dedust' && !isRouted);
  return isLookedUp && mix32(trace + 6) % 9 === 0;
}

/** An amount of a jetton, or of TON if the asset is null. */
interface Value {
  readonly asset: string | null;
  readonly amount: string;
}

function peerSwap(taken: Value, given: Value): object {
  return {
    asset_in: taken.asset,
    amount_in: taken.amount,
    asset_out: given.asset,
    amount_out: given.amount,
  };
}

/** What a swap through two pools passes from one to the other. */
function valueBetween({ world, transactions }: Leg, last: number): Value {
  const { accounts, messages } = world;
  const message = transactions
    .map((row) => world.transactions.inMessage.get(row))
    .findLast(
      (one) => one !== NONE && messages.opOf(one) === 'dex_swap' && messages.destination.get(one) === last,
    );
  const wallet = message === undefined ? NONE : messages.party.get(message);
  if (message === undefined || wallet === NONE)
    return { asset: null, amount: String(message === undefined ? 0 : messages.amount.get(message)) };
  const master = accounts.masterOf(wallet);
  return { asset: accounts.address(master), amount: jettonAmount(world, message, master) };
}

interface Sides {
  readonly dex: Dex;
  readonly from: number;
  readonly to: number;
}

type SwapMember = 'asset' | 'source' | 'destination' | 'source_jetton_wallet' | 'destination_jetton_wallet';

interface SwapTransfer {
  readonly isJetton: boolean;
  readonly value: Readonly<Record<SwapMember, string | null>> & { readonly amount: string };
}

/** A side of a swap. TON moves by an exchange's own proxy of it, which the server prints in that exchange's way. */
function swapTransfer(world: World, message: number, { dex, from, to }: Sides): SwapTransfer {
  const { accounts, messages } = world;
  const ends = { source: accounts.address(from), destination: accounts.address(to) };
  if (messages.opOf(message) === 'jetton_transfer') {
    const wallet = messages.destination.get(message);
    const master = accounts.masterOf(wallet);
    const value = {
      asset: accounts.address(master),
      ...ends,
      source_jetton_wallet: accounts.address(wallet),
      destination_jetton_wallet: accounts.address(accounts.jettonWallet(to, accounts.jettonSlot(wallet))),
      amount: jettonAmount(world, message, master),
    };
    return { isJetton: true, value };
  }
  const proxy = (pool: number): string | null =>
    dex === 'dedust' || !accounts.isExchange(pool) ? null : `0:${world.hashes('proxy').hex(pool)}`;
  const value = {
    asset: coins(dex),
    ...ends,
    source_jetton_wallet: proxy(from),
    destination_jetton_wallet: proxy(to),
    amount: String(messages.amount.get(message)),
  };
  return { isJetton: false, value };
}

/** How the server names TON: by its proxy for STON.fi v1, else not at all. */
function coins(dex: Dex): string | null {
  return dex === 'stonfi' ? PROXY_TON : null;
}

/** One asset of a deposit or a withdrawal. */
interface Side extends Value {
  /** The jetton wallet of who provides it. */
  readonly wallet: string | null;
}

/** A deposit of both assets: the messages that bring them are legs, and the first one stands for both. */
export function deposit(leg: Leg): NetworkAction[] {
  const { world, trace } = leg;
  const root = world.traces.root.get(trace);
  const parts = jettonTransfers(leg, ['dex_deposit_liquidity']);
  if (leg.message !== world.transactions.firstOut.get(root)) return parts;
  const made: NetworkAction = {
    type: 'dex_deposit_liquidity',
    ancestors: [],
    transactions: world.transactionsOfTrace(trace),
    success: true,
    details: () => depositedDetails(leg, root),
  };
  return [made, ...parts];
}

function depositedDetails({ world, trace }: Leg, root: number): object {
  const { accounts, messages, traces } = world;
  const pool = poolAt(accounts, traces.partner.get(trace));
  const first = world.transactions.firstOut.get(root);
  const both = [first, first + 1].map((message) => sideOf(world, message, pool.dex));
  const minted = sentInTrace(world, trace).find(
    (message) =>
      messages.source.get(message) === pool.account && messages.opOf(message) === 'jetton_internal_transfer',
  );
  const isPosition = !pool.hasLp;
  return {
    dex: pool.dex,
    ...sides(both),
    source: accounts.address(traces.actor.get(trace)),
    pool: accounts.address(pool.account),
    destination_liquidity: accounts.address(pool.account),
    lp_tokens_minted: minted === undefined ? null : String(messages.amount.get(minted)),
    target_asset_1: null,
    target_asset_2: null,
    target_amount_1: null,
    target_amount_2: null,
    vault_excesses: [],
    ...ticks(isPosition, trace),
    nft_index: isPosition ? String(trace) : null,
    nft_address: isPosition ? `0:${world.hashes('position').hex(trace)}` : null,
  };
}

function ticks(isPosition: boolean, trace: number): object {
  const lower = (mix32(trace) % 200_000) - 100_000;
  return isPosition
    ? { tick_lower: String(lower), tick_upper: String(lower + 600) }
    : { tick_lower: null, tick_upper: null };
}

function sides(both: readonly Side[]): object {
  return Object.fromEntries(
    both.flatMap(({ asset, amount, wallet }, at) => [
      [`asset_${at + 1}`, asset],
      [`amount_${at + 1}`, amount],
      [`user_jetton_wallet_${at + 1}`, wallet],
    ]),
  );
}

/** What a message gives to a pool, or a pool to a wallet. */
function sideOf(world: World, message: number, dex: Dex): Side {
  const { accounts, messages } = world;
  if (messages.opOf(message) !== 'jetton_transfer')
    return { asset: coins(dex), amount: String(messages.amount.get(message)), wallet: null };
  const wallet = messages.destination.get(message);
  const master = accounts.masterOf(wallet);
  const party = messages.party.get(message);
  const own = accounts.isExchange(party) ? wallet : accounts.jettonWallet(party, accounts.jettonSlot(wallet));
  return {
    asset: accounts.address(master),
    amount: jettonAmount(world, message, master),
    wallet: accounts.address(own),
  };
}

/** All messages that the transactions of a trace sent, in their order. */
function sentInTrace(world: World, trace: number): number[] {
  const { firstOut, outCount } = world.transactions;
  return world
    .transactionsOfTrace(trace)
    .flatMap((row) => Array.from({ length: outCount.get(row) }, (_, at) => firstOut.get(row) + at));
}

/** A withdrawal: the pool has paid both assets for LP tokens that were burned, or for a position. */
export function withdrawal(leg: Leg): NetworkAction[] {
  const { world, trace } = leg;
  const { accounts, messages, traces } = world;
  const pool = poolAt(accounts, traces.partner.get(trace));
  const payments = sentInTrace(world, trace).filter(
    (message) =>
      messages.source.get(message) === pool.account &&
      ['jetton_transfer', 'dex_payout'].includes(messages.opOf(message)),
  );
  const burn = pool.hasLp ? jettonBurn(leg) : [];
  if (payments.length < 2) return burn;
  const both = payments.map((message) => sideOf(world, message, pool.dex));
  const made = simple(leg, 'dex_withdraw_liquidity', () => ({
    dex: pool.dex,
    ...sides(both),
    lp_tokens_burnt: String(messages.amount.get(leg.message)),
    is_refund: false,
    source: accounts.address(traces.actor.get(trace)),
    pool: accounts.address(pool.account),
    destination_liquidity: accounts.address(pool.account),
    burnt_nft_index: pool.hasLp ? null : String(trace),
    burnt_nft_address: pool.hasLp ? null : `0:${world.hashes('position').hex(trace)}`,
    ...ticks(!pool.hasLp, trace),
  }));
  const hidden = [...burn, ...jettonTransfers(leg)].map((part) => ({
    ...part,
    ancestors: ['dex_withdraw_liquidity'],
  }));
  return [made, ...hidden];
}
