import { nftReceiver } from '../chain/generate/reactions.ts';
import { queryId } from '../../json/comment.ts';
import {
  customPayload,
  FORWARDED,
  forwardPayload,
  jettonAmount,
  responseDestination,
} from '../../json/payload.ts';
import { hasCollection, jettonParties, nftParties } from '../../json/token-json.ts';
import { isLpMaster, poolAt, wasTaken, type Dex } from '../chain/exchanges.ts';
import { NONE } from '../chain/tables/block-table.ts';
import type { World } from '../chain/world.ts';
import { mix32 } from '../../random.ts';
import { succeeded, type NetworkAction, type Leg } from './made-action.ts';

/** The jetton as which STON.fi v1 moves TON: the server names it as the asset. */
const PROXY_TON = '0:8CDC1D7640AD5EE326527FC1AD0514F468B30DC84B0173F0E155F451B4E11F7C';

/** A jetton transfer, or what an exchange made of it: then the transfers are hidden parts of that. */
export function jettonTransfers(leg: Leg): NetworkAction[] {
  const purpose = leg.world.traces.purposeOf(leg.trace);
  if (purpose === 'jetton_swap') return swap(leg);
  if (purpose === 'dex_deposit') return deposit(leg);
  return [transfer(leg, leg.receiver, [])];
}

/** A swap, if the trader was paid; else what is left of it. */
export function swap(leg: Leg): NetworkAction[] {
  const { world } = leg;
  const there = transfers(leg, []);
  const payment = leg.transactions.find((row) => isPayment(leg, row));
  if (payment === undefined || !succeeded(leg) || !wasTaken(world, payment)) return there.slice(0, 1);
  const made: NetworkAction = {
    type: 'jetton_swap',
    ancestors: [],
    transactions: leg.transactions,
    success: true,
    details: () => swapDetails(leg, world.transactions.inMessage.get(payment)),
  };
  return [made, ...transfers(leg, ['jetton_swap'])];
}

/** The transfers of jettons that a leg is made of. */
function transfers(leg: Leg, ancestors: readonly string[]): NetworkAction[] {
  return leg.transactions
    .filter((row) => receivedOp(leg.world, row) === 'jetton_transfer')
    .map((row) => transfer(leg, row, ancestors));
}

/** True for the transaction that a pool's payment to the trader started. */
function isPayment({ world, trace }: Leg, row: number): boolean {
  const { messages, traces, transactions } = world;
  const message = transactions.inMessage.get(row);
  const op = message === NONE ? 'empty' : messages.opOf(message);
  const isTransfer = op === 'jetton_transfer' && messages.party.get(message) === traces.actor.get(trace);
  return op === 'dex_payout' || isTransfer;
}

function receivedOp(world: World, row: number): string {
  const message = world.transactions.inMessage.get(row);
  return message === NONE ? '' : world.messages.opOf(message);
}

function transfer(leg: Leg, row: number, ancestors: readonly string[]): NetworkAction {
  return {
    type: 'jetton_transfer',
    ancestors,
    transactions:
      ancestors.length === 0 ? leg.transactions : leg.transactions.filter((other) => other >= row),
    success: leg.world.transactions.kindOf(row) === 'ok' && wasTaken(leg.world, row),
    details: () => transferDetails(leg, row),
  };
}

function transferDetails({ world, bocs, trace }: Leg, row: number): object {
  const { accounts } = world;
  const { from, to, item, group } = jettonParties(world, row);
  const message = world.transactions.inMessage.get(row);
  const { body, text } = forwardPayload(world, bocs, message);
  return {
    asset: accounts.address(group),
    sender: accounts.address(from),
    receiver: accounts.address(to),
    sender_jetton_wallet: accounts.address(item),
    receiver_jetton_wallet: accounts.address(accounts.jettonWallet(to, accounts.jettonSlot(item))),
    amount: jettonAmount(world, message, group),
    comment: text,
    is_encrypted_comment: text === null ? null : false,
    query_id: queryId(trace),
    response_destination: addressOrNull(world, responseDestination(world, message)),
    custom_payload: customPayload(bocs, message).body,
    forward_payload: body,
    forward_amount: FORWARDED,
  };
}

function addressOrNull(world: World, account: number | undefined): string | null {
  return account === undefined ? null : world.accounts.address(account);
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
  const parts = transfers(leg, ['dex_deposit_liquidity']);
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
  const [one, two] = [first, first + 1].map((message) => sideOf(world, message, pool.dex));
  const minted = sentInTrace(world, trace).find(
    (message) =>
      messages.source.get(message) === pool.account &&
      messages.opOf(message) === 'jetton_internal_transfer',
  );
  const isPosition = !pool.hasLp;
  return {
    dex: pool.dex,
    ...sides(one, two),
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

function sides(one: Side | undefined, two: Side | undefined): object {
  return {
    amount_1: one?.amount ?? null,
    amount_2: two?.amount ?? null,
    asset_1: one?.asset ?? null,
    asset_2: two?.asset ?? null,
    user_jetton_wallet_1: one?.wallet ?? null,
    user_jetton_wallet_2: two?.wallet ?? null,
  };
}

/** What a message gives to a pool, or a pool to a wallet. */
function sideOf(world: World, message: number, dex: Dex): Side {
  const { accounts, messages } = world;
  if (messages.opOf(message) !== 'jetton_transfer')
    return { asset: coins(dex), amount: String(messages.amount.get(message)), wallet: null };
  const wallet = messages.destination.get(message);
  const master = accounts.masterOf(wallet);
  const party = messages.party.get(message);
  const own = accounts.isExchange(party)
    ? wallet
    : accounts.jettonWallet(party, accounts.jettonSlot(wallet));
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
  const burn = pool.hasLp ? [simple(leg, 'jetton_burn', jettonBurnDetails)] : [];
  if (payments.length < 2) return burn;
  const [one, two] = payments.map((message) => sideOf(world, message, pool.dex));
  const made = simple(leg, 'dex_withdraw_liquidity', () => ({
    dex: pool.dex,
    ...sides(one, two),
    lp_tokens_burnt: String(messages.amount.get(leg.message)),
    is_refund: false,
    source: accounts.address(traces.actor.get(trace)),
    pool: accounts.address(pool.account),
    destination_liquidity: accounts.address(pool.account),
    burnt_nft_index: pool.hasLp ? null : String(trace),
    burnt_nft_address: pool.hasLp ? null : `0:${world.hashes('position').hex(trace)}`,
    ...ticks(!pool.hasLp, trace),
  }));
  const hidden = [...burn, ...transfers(leg, [])].map((part) => ({
    ...part,
    ancestors: ['dex_withdraw_liquidity'],
  }));
  return [made, ...hidden];
}

export function jettonBurn(leg: Leg): NetworkAction[] {
  const { accounts } = leg.world;
  const master = accounts.masterOf(leg.world.transactions.account.get(leg.receiver));
  if (isLpMaster(accounts, master)) return withdrawal(leg);
  return [simple(leg, 'jetton_burn', jettonBurnDetails)];
}

function jettonBurnDetails({ world, message, receiver }: Leg): object {
  const { accounts } = world;
  const { from, item, group } = jettonParties(world, receiver);
  return {
    owner: accounts.address(from),
    owner_jetton_wallet: accounts.address(item),
    asset: accounts.address(group),
    amount: jettonAmount(world, message, group),
  };
}

/** A mint, or a deposit with a pool that mints its own jetton: of that the mint is a hidden part. */
export function jettonMint(leg: Leg): NetworkAction[] {
  const made = simple(leg, 'jetton_mint', jettonMintDetails);
  const mint = { ...made, success: succeeded(leg) && wasTaken(leg.world, leg.receiver) };
  const isDeposit = mix32(leg.trace + 7) % 5 === 0;
  return isDeposit
    ? [simple(leg, 'stake_deposit', depositDetails), { ...mint, ancestors: ['stake_deposit'] }]
    : [mint];
}

function depositDetails({ world, message }: Leg): object {
  const { accounts, messages } = world;
  const master = messages.destination.get(message);
  const pool = accounts.address(master);
  return {
    provider: 'liquid_staking',
    stake_holder: accounts.address(messages.source.get(message)),
    pool,
    amount: String(messages.value.get(message)),
    tokens_minted: jettonAmount(world, message, master),
    asset: pool,
  };
}

function jettonMintDetails({ world, trace, message }: Leg): object {
  const { accounts, messages, traces } = world;
  const receiver = traces.partner.get(trace);
  const master = messages.destination.get(message);
  return {
    asset: accounts.address(master),
    receiver: accounts.address(receiver),
    receiver_jetton_wallet: accounts.address(accounts.jettonWallet(receiver, traces.slot.get(trace))),
    amount: jettonAmount(world, message, master),
    ton_amount: String(messages.value.get(message)),
  };
}

export function nftMint(leg: Leg): NetworkAction[] {
  return [simple(leg, 'nft_mint', nftMintDetails)];
}

function nftMintDetails({ world, trace, message }: Leg): object {
  const { accounts, messages, traces } = world;
  const item = traces.partner.get(trace);
  return {
    owner: accounts.address(messages.source.get(message)),
    nft_item: accounts.address(item),
    nft_collection: accounts.address(messages.destination.get(message)),
    nft_item_index: String(accounts.indexInRole(item)),
  };
}

/** A transfer of an item; one in four is a purchase, whose part the plain transfer is. */
export function nftTransfer(leg: Leg): NetworkAction[] {
  const bought = mix32(leg.trace + 3) % 4 === 0;
  if (!bought) return [simple(leg, 'nft_transfer', (part) => nftDetails(part, false))];
  const part = simple(leg, 'nft_transfer', (of) => nftDetails(of, true));
  return [
    simple(leg, 'nft_purchase', (of) => nftDetails(of, true)),
    { ...part, ancestors: ['nft_purchase'], transactions: part.transactions.slice(1) },
  ];
}

function nftDetails({ world, bocs, trace, receiver, message }: Leg, bought: boolean): object {
  const { accounts } = world;
  const { from, item, group } = nftParties(world, receiver);
  const { body, text } = forwardPayload(world, bocs, message);
  const price = 1_000_000_000 + (mix32(trace + 4) % 100_000) * 1_000_000;
  const owner = accounts.address(from);
  return {
    nft_collection: hasCollection(world, item) ? accounts.address(group) : null,
    nft_item: accounts.address(item),
    nft_item_index: String(accounts.indexInRole(item)),
    old_owner: owner,
    new_owner: accounts.address(nftReceiver(world, trace)),
    is_purchase: bought,
    ...(bought ? { price: String(price) } : {}),
    query_id: queryId(trace),
    response_destination: addressOrNull(world, responseDestination(world, message)),
    custom_payload: customPayload(bocs, message).body,
    forward_payload: body,
    forward_amount: body === null ? null : FORWARDED,
    comment: text,
    is_encrypted_comment: text === null ? null : false,
    ...(bought ? saleOf(world, { price, owner, group }) : NO_SALE),
  };
}

const NO_SALE = {
  marketplace: null,
  real_old_owner: null,
  marketplace_address: null,
  payout_amount: null,
  payout_address: null,
  payout_comment: null,
  payout_comment_encrypted: null,
  payout_comment_encoded: null,
  royalty_amount: null,
  royalty_address: null,
} as const;

interface Sale {
  readonly price: number;
  readonly owner: string;
  readonly group: number;
}

function saleOf({ accounts }: World, { price, owner, group }: Sale): object {
  return {
    marketplace: 'getgems',
    real_old_owner: owner,
    marketplace_address: accounts.address(accounts.giver),
    payout_amount: String(Math.floor(price * 0.9)),
    payout_address: owner,
    payout_comment: null,
    payout_comment_encrypted: false,
    payout_comment_encoded: false,
    royalty_amount: String(Math.floor(price * 0.05)),
    royalty_address: accounts.address(group),
  };
}

function simple(leg: Leg, type: string, details: (leg: Leg) => object): NetworkAction {
  return {
    type,
    ancestors: [],
    transactions: leg.transactions,
    success: succeeded(leg),
    details: () => details(leg),
  };
}
