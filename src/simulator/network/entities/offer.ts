import { NONE } from '../chain/tables/block-table.ts';
import type { World } from '../chain/world.ts';
import { mix32 } from '../../random.ts';

const OFFERS = ['getgems_sale', 'getgems_auction', 'telemint'] as const;

type Offer = (typeof OFFERS)[number];

/** Of so many items the first few are offered, each in another way. */
const EVERY = 9;

/** How an item is offered: its index in its role decides. */
export function offerOf(index: number): Offer | undefined {
  return OFFERS[index % EVERY];
}

/** An item that is offered in a certain way. The first items are minted first, so most are among these. */
export function offeredItem({ accounts }: World, offer: Offer, dice: number): number {
  const rounds = Math.max(1, Math.floor(accounts.wallets / EVERY));
  const round = Math.floor(rounds * (dice / 2 ** 32) ** 3);
  return accounts.account('nft_item', Math.min(accounts.wallets - 1, round * EVERY + OFFERS.indexOf(offer)));
}

/** The contract that offers an item: an auction of a name is the item itself. */
export function saleAddress({ accounts, hashes }: World, item: number): string {
  const isItself = offerOf(accounts.indexInRole(item)) === 'telemint';
  return isItself ? accounts.address(item) : `0:${hashes('sale').hex(item)}`;
}

/** When items were offered, unix seconds. */
export const OFFERED = 1_760_000_000;

/** Nanotons: from a tenth of a TON to some thousands, most of them small and round. */
function askedFor(index: number): bigint {
  const dice = mix32(index + 77);
  const round = [100_000_000n, 1_000_000_000n, 50_000_000_000n][(dice >>> 8) % 3] ?? 1_000_000_000n;
  return BigInt(1 + (dice % 99)) * round;
}

interface Parties {
  readonly market: string;
  readonly author: string;
  readonly bidder: string;
}

/** Who takes part in the offer of an item. */
export function partiesOf({ accounts }: World, item: number): Parties {
  const wallet = (index: number) => accounts.address(accounts.account('wallet', index));
  const bidder = wallet((accounts.indexInRole(item) * 3) % accounts.wallets);
  return { market: wallet(0), author: wallet(1), bidder };
}

/** The terms of the sale or auction of an item, as its contract has them. */
export function offerDetails(world: World, item: number) {
  const index = world.accounts.indexInRole(item);
  const parties = partiesOf(world, item);
  switch (offerOf(index)) {
    case 'getgems_sale':
      return fixedPrice(index, parties);
    case 'getgems_auction':
      return auction(index, parties);
    default:
      return telemint(index, parties.bidder);
  }
}

/** A sale at a fixed price; members without a value are left out. */
function fixedPrice(index: number, { market, author }: Parties) {
  const price = askedFor(index);
  const isFree = mix32(index) % 6 === 0;
  return {
    is_complete: index % 2 === 0,
    full_price: String(price),
    marketplace_fee_address: market,
    marketplace_fee: String(price / 20n),
    ...(isFree
      ? {}
      : { royalty_address: author, royalty_amount: String((price * BigInt(index % 11)) / 100n) }),
  };
}

function auction(index: number, { market, author, bidder }: Parties) {
  const least = askedFor(index);
  const [hasBids, isOver] = [mix32(index + 1) % 3 !== 0, mix32(index + 2) % 4 === 0];
  return {
    end_flag: isOver,
    end_time: OFFERED + 604_800 + index,
    last_bid: hasBids ? String((least * 105n) / 100n) : '0',
    ...(hasBids ? { last_member: bidder } : {}),
    min_step: 5,
    mp_fee_address: market,
    mp_fee_factor: 5,
    mp_fee_base: 100,
    royalty_fee_address: author,
    royalty_fee_factor: index % 11,
    royalty_fee_base: 100,
    max_bid: String(least * 100n),
    min_bid: String(least),
    last_bid_at: hasBids ? OFFERED + 3600 + index : 0,
    is_canceled: isOver && !hasBids,
  };
}

/** The auction of a name; sold names have none. */
function telemint(index: number, bidder: string): object {
  const least = askedFor(index);
  const royalty = { royalty_numerator: 5, royalty_denominator: 100, royalty_destination: bidder };
  if (mix32(index + 3) % 3 === 0) return { token_name: `item${index}`, ...royalty };
  return {
    token_name: `item${index}`,
    bidder_address: bidder,
    bid: String((least * 105n) / 100n),
    bid_ts: String(OFFERED + index),
    min_bid: String((least * 110n) / 100n),
    end_time: OFFERED + 604_800 + index,
    beneficiary_address: bidder,
    initial_min_bid: String(least),
    max_bid: '0',
    min_bid_step: '5',
    min_extend_time: '3600',
    duration: '604800',
    ...royalty,
  };
}

/** The collection of the domains below .ton. */
export const DOMAINS = '0:B774D95EB20543F186C06B371AB88AD704F7E256130CAF96189368A7D0CB6CCF';

/** The wallet for which the domain is named that a message bids for; undefined if it is no such bid. */
export function domainBidFor(world: World, message: number): number | undefined {
  const { accounts, messages } = world;
  const dice = mix32(message + 31);
  if (messages.opOf(message) !== 'call' || dice % 25 !== 0) return undefined;
  if (world.isPool(messages.destination.get(message))) return undefined;
  return accounts.account('wallet', (dice >>> 8) % Math.min(30, accounts.wallets));
}

/** The first bids that were found in a world, by domain: rows of transactions, of which so many were searched. */
interface FirstBids {
  readonly found: Map<number, number>;
  searched: number;
}

const FIRST_BIDS = new WeakMap<World, FirstBids>();

/** The transaction with the first bid for the domain that is named for a wallet, which makes the item. */
export function firstBidFor(world: World, wallet: number): number | undefined {
  const { transactions } = world;
  const bids = FIRST_BIDS.get(world) ?? { found: new Map<number, number>(), searched: 0 };
  FIRST_BIDS.set(world, bids);
  for (; bids.searched < transactions.count; bids.searched++) {
    const bidFor = bidOf(world, bids.searched);
    if (bidFor !== undefined && !bids.found.has(bidFor)) bids.found.set(bidFor, bids.searched);
  }
  return bids.found.get(wallet);
}

/** The wallet for which the domain is named that a transaction took a bid for; undefined if it took none. */
export function bidOf(world: World, row: number): number | undefined {
  const message = world.transactions.inMessage.get(row);
  if (message === NONE || world.transactions.kindOf(row) !== 'ok') return undefined;
  return domainBidFor(world, message);
}

export const domainName = (wallet: number): string => `auction${wallet}`;

/** The item of the domain that is named for a wallet, in hex: its index, and its own auction. */
export const auctionedDomain = ({ hashes }: World, wallet: number): string =>
  hashes('auctioned domain').hex(wallet);
