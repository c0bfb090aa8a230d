import { nftReceiver } from '../chain/generate/reactions.ts';
import { queryId } from '../../json/comment.ts';
import {
  customPayload,
  FORWARDED,
  forwardPayload,
  hasManyDecimals,
  jettonAmount,
  jettonUnits,
  responseDestination,
} from '../../json/payload.ts';
import { hasCollection, jettonParties, nftParties } from '../../json/token-json.ts';
import { dexOf, otherParty, sentAmount, wasTaken, type Dex } from '../chain/jetton-parties.ts';
import type { World } from '../chain/world.ts';
import { mix32 } from '../../random.ts';
import { succeeded, type NetworkAction, type Leg } from './made-action.ts';

/** The jetton as which STON.fi v1 moves TON: the server names it as the asset. */
const PROXY_TON = '0:8CDC1D7640AD5EE326527FC1AD0514F468B30DC84B0173F0E155F451B4E11F7C';

/** A jetton transfer, or a swap if the exchange paid back: then the two transfers are its hidden parts. */
export function jettonTransfers(leg: Leg): NetworkAction[] {
  const there = transfer(leg, leg.receiver, []);
  if (leg.world.traces.purposeOf(leg.trace) !== 'jetton_swap') return [there];
  const back = leg.transactions.find(
    (row) => row !== leg.receiver && receivedOp(leg.world, row) === 'jetton_transfer',
  );
  if (back === undefined || !succeeded(leg) || !wasTaken(leg.world, back)) return [there];
  const parts = [leg.receiver, back].map((row) => transfer(leg, row, ['jetton_swap']));
  const swap: NetworkAction = {
    type: 'jetton_swap',
    ancestors: [],
    transactions: leg.transactions,
    success: true,
    details: () => swapDetails(leg, leg.receiver, back),
  };
  return [swap, ...parts];
}

function receivedOp(world: World, row: number): string {
  return world.messages.opOf(world.transactions.inMessage.get(row));
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
    amount: jettonAmount(world, trace, from),
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

function swapDetails({ world, trace }: Leg, there: number, back: number): object {
  const ton = tonSide(world, trace);
  const dex = dexOf(trace);
  const incoming = swapTransfer(world, there, ton === 'in' ? { dex, side: 'in' } : undefined);
  const outgoing = swapTransfer(world, back, ton === 'out' ? { dex, side: 'out' } : undefined);
  // The server knows no legs of a swap on STON.fi v1.
  const isRouted = dex !== 'stonfi' && !hasManyDecimals(world, trace) && mix32(trace + 2) % 3 === 0;
  const assetOut = isUnknown(trace, { dex, ton, isRouted }) ? null : outgoing.asset;
  const between = valueBetween(world, trace, ton);
  return {
    dex,
    sender: incoming.source,
    asset_in: incoming.asset,
    asset_out: assetOut,
    dex_incoming_transfer: incoming,
    dex_outgoing_transfer: { ...outgoing, asset: assetOut },
    peer_swaps: isRouted ? [peerSwap(incoming, between), peerSwap(between, outgoing)] : [],
    ...(dex === 'tonco' ? { min_out_amount: mix32(trace) % 2 === 0 ? outgoing.amount : null } : {}),
  };
}

interface Route {
  readonly dex: Dex;
  readonly ton: TonSide;
  readonly isRouted: boolean;
}

/** The server looks the asset that a pool gave up by the jetton wallet, and does not know each of them. */
function isUnknown(trace: number, { dex, ton, isRouted }: Route): boolean {
  const isLookedUp = ton !== 'out' && (dex === 'stonfi' || (dex === 'dedust' && !isRouted));
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

/** What a swap through two pools passes from one to the other: TON, or a jetton at the price that it has for TON. */
function valueBetween(world: World, trace: number, ton: TonSide): Value {
  const actor = world.traces.actor.get(trace);
  const given = sentAmount(world, trace, actor);
  const got = sentAmount(world, trace, otherParty(world, trace, actor));
  if (ton === undefined) return { asset: null, amount: String(Math.ceil(Math.sqrt(given * got))) };
  const amount = Math.ceil(ton === 'in' ? (given / got) * given : (got / given) * got);
  const master = world.accounts.jettonMaster(actor, ton === 'in' ? 0 : 1);
  return { asset: world.accounts.address(master), amount: jettonUnits(world, actor, amount) };
}

type TonSide = 'in' | 'out' | undefined;

/** Which side of a swap is TON. */
function tonSide(world: World, trace: number): TonSide {
  if (hasManyDecimals(world, trace)) return undefined;
  return (['in', 'in', 'out', 'out', undefined] as const)[mix32(trace + 5) % 5];
}

/** A side of a swap. TON moves by an exchange's own proxy of it, which the server prints in that exchange's way. */
function swapTransfer(
  world: World,
  row: number,
  ton?: { readonly dex: Dex; readonly side: 'in' | 'out' },
): Readonly<Record<SwapMember, string | null>> & { readonly amount: string } {
  const { accounts, transactions } = world;
  const { from, to, item, group } = jettonParties(world, row);
  const trace = transactions.trace.get(row);
  const sending = accounts.address(item);
  const receiving = accounts.address(accounts.jettonWallet(to, accounts.jettonSlot(item)));
  const hasProxy = ton !== undefined && ton.dex !== 'dedust';
  return {
    asset: ton === undefined ? accounts.address(group) : ton.dex === 'stonfi' ? PROXY_TON : null,
    source: accounts.address(from),
    destination: accounts.address(to),
    source_jetton_wallet: ton === undefined || (hasProxy && ton.side === 'out') ? sending : null,
    destination_jetton_wallet: ton === undefined || (hasProxy && ton.side === 'in') ? receiving : null,
    amount: ton === undefined ? jettonAmount(world, trace, from) : String(sentAmount(world, trace, from)),
  };
}

type SwapMember = 'asset' | 'source' | 'destination' | 'source_jetton_wallet' | 'destination_jetton_wallet';

export function jettonBurn(leg: Leg): NetworkAction[] {
  return [simple(leg, 'jetton_burn', jettonBurnDetails)];
}

function jettonBurnDetails({ world, trace, receiver }: Leg): object {
  const { accounts } = world;
  const { from, item, group } = jettonParties(world, receiver);
  return {
    owner: accounts.address(from),
    owner_jetton_wallet: accounts.address(item),
    asset: accounts.address(group),
    amount: jettonAmount(world, trace),
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

function depositDetails({ world, trace, message }: Leg): object {
  const { accounts, messages } = world;
  const pool = accounts.address(messages.destination.get(message));
  return {
    provider: 'liquid_staking',
    stake_holder: accounts.address(messages.source.get(message)),
    pool,
    amount: String(messages.value.get(message)),
    tokens_minted: jettonAmount(world, trace),
    asset: pool,
  };
}

function jettonMintDetails({ world, trace, message }: Leg): object {
  const { accounts, messages, traces } = world;
  const receiver = traces.partner.get(trace);
  return {
    asset: accounts.address(messages.destination.get(message)),
    receiver: accounts.address(receiver),
    receiver_jetton_wallet: accounts.address(accounts.jettonWallet(receiver, traces.slot.get(trace))),
    amount: jettonAmount(world, trace),
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
