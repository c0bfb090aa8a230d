import { EMPTY_BOC } from '../chain/boc.ts';
import { BASE, itemIndex, marketFee, offerKind, sharesOf } from '../chain/nft-market.ts';
import { NONE } from '../chain/tables/block-table.ts';
import type { Op } from '../chain/tables/message-table.ts';
import type { World } from '../chain/world.ts';
import { queryId } from '../../json/comment.ts';
import { customPayload, forwardAmount, forwardPayload, responseDestination } from '../../json/payload.ts';
import { nftParties } from '../../json/token-json.ts';
import { call, coins, coinsArrived } from './call-details.ts';
import { CHANGED_RECORD } from './contract-actions.ts';
import { succeeded, type Leg, type NetworkAction } from './made-action.ts';
import { fill } from './members.ts';

/* What the server makes of the life of an item. It sees messages, and contracts as they are in the end. */

type Details = Readonly<Record<string, unknown>>;

/** The first transaction of a leg that received a message of a kind. */
function receiverOf({ world, transactions }: Leg, op: Op): number | undefined {
  return transactions.find((row) => {
    const message = world.transactions.inMessage.get(row);
    return message !== NONE && world.messages.opOf(message) === op;
  });
}

const messageOf = ({ world }: Leg, row: number): number => world.transactions.inMessage.get(row);

/** A transaction and the one that sent its message. */
function pair(leg: Leg, row: number): number[] {
  return [leg.world.messages.outTransaction.get(messageOf(leg, row)), row];
}

/** The same, and all that followed. */
function branch(leg: Leg, row: number): number[] {
  const rows = pair(leg, row);
  for (let at = 1; at < rows.length; at++) rows.push(...leg.world.childrenOf(rows[at] ?? NONE));
  return rows;
}

interface Made {
  readonly rows: readonly number[];
  readonly within?: string;
  readonly success?: boolean;
}

function made(type: string, { rows, within, success = true }: Made, details: () => object): NetworkAction {
  const ancestors = within === undefined ? [] : [within];
  return { type, ancestors, transactions: [...new Set(rows)].sort((a, b) => a - b), success, details };
}

/** The coins that a transaction received, or the call, as an action of its own or a part of another. */
function plain(
  leg: Leg,
  row: number,
  type: 'ton_transfer' | 'call_contract',
  within?: string,
): NetworkAction {
  const isCall = type === 'call_contract';
  const success = isCall ? leg.world.transactions.kindOf(row) === 'ok' : coinsArrived(leg.world, row);
  const about = { rows: pair(leg, row), success, ...(within === undefined ? {} : { within }) };
  return made(type, about, () => (isCall ? call : coins)(leg.world, messageOf(leg, row)));
}

function addressOrNull(world: World, account: number | undefined): string | null {
  return account === undefined || account === NONE ? null : world.accounts.address(account);
}

/** The members that name an item. */
function named(world: World, item: number) {
  const collection = world.accounts.hasCollection(item) ? world.accounts.collection(item) : undefined;
  return {
    nft_collection: addressOrNull(world, collection),
    nft_item: world.accounts.address(item),
    nft_item_index: itemIndex(world, item),
  };
}

/** The server knows marketplaces by their address; where an action names none, it takes the collection for one. */
function marketName({ accounts }: World, item: number, hasAddress: boolean): string | null {
  if (hasAddress) return 'getgems';
  return accounts.kindOf(item) === 'username' ? 'fragment' : null;
}

/** The item that the receiver of a leg is, or offers. */
function itemAt({ world: { accounts, messages }, message }: Leg): number {
  const account = messages.destination.get(message);
  return accounts.role(account) === 'nft_sale' ? accounts.itemOfSale(account) : account;
}

/** A message brings an item its code: from its collection, which was asked for that, or from a wallet itself. */
export function nftMint(leg: Leg): NetworkAction[] {
  const { world, message, receiver } = leg;
  const rows = [receiver, ...world.childrenOf(receiver)];
  const row = rows.find((one) => world.accounts.role(world.transactions.account.get(one)) === 'nft_item');
  const isBid = world.messages.opOf(message) === 'nft_first_bid';
  const asked = plain(leg, receiver, isBid ? 'ton_transfer' : 'call_contract');
  if (row === undefined) return [asked];
  const details = () => ({
    owner: world.accounts.address(world.messages.source.get(messageOf(leg, row))),
    ...named(world, world.transactions.account.get(row)),
  });
  const isMade = world.transactions.kindOf(row) === 'ok';
  const mint = isMade
    ? made('nft_mint', { rows: pair(leg, row) }, details)
    : plain(leg, row, 'call_contract');
  return row === receiver ? [mint] : [asked, mint];
}

/** An item is given to a wallet, or to the marketplace, whose new contract then has it on offer. */
export function nftTransfer(leg: Leg): NetworkAction[] {
  const { world, receiver } = leg;
  const sale = receiverOf(leg, 'nft_sale');
  const rest = leg.transactions.filter((row) => row > receiver);
  const moved = rest.find((row) => world.messages.opOf(messageOf(leg, row)) === 'nft_transfer');
  const given = { rows: leg.transactions, success: succeeded(leg) };
  if (sale === undefined || moved === undefined)
    return [made('nft_transfer', given, () => transferDetails(leg, receiver))];
  const account = world.transactions.account.get(sale);
  const within = offerKind(world.accounts, account) === 'sale' ? 'nft_put_on_sale' : 'nft_put_on_auction';
  const others = new Set([...branch(leg, moved).slice(1), sale]);
  const rows = leg.transactions.filter((row) => !others.has(row));
  return [
    made(within, given, () => listingDetails(leg, messageOf(leg, sale))),
    made('nft_transfer', { rows, within }, () => transferDetails(leg, receiver)),
    plain(leg, sale, 'call_contract', within),
    made('nft_transfer', { rows: branch(leg, moved), within }, () => transferDetails(leg, moved)),
  ];
}

function transferDetails(leg: Leg, row: number, sale?: Details): object {
  const { world, bocs } = leg;
  const { from, to, item } = nftParties(world, row);
  const message = messageOf(leg, row);
  const { body, text } = forwardPayload(world, bocs, message);
  return {
    ...named(world, item),
    old_owner: world.accounts.address(from),
    new_owner: world.accounts.address(to),
    is_purchase: sale !== undefined,
    ...(sale === undefined ? {} : { price: String(world.messages.amount.get(message)) }),
    query_id: queryId(leg.trace),
    ...UNSAID,
    response_destination: addressOrNull(world, responseDestination(world, message)),
    custom_payload: customPayload(bocs, message).body,
    forward_payload: body ?? EMPTY_BOC,
    forward_amount: forwardAmount(world, message),
    comment: text,
    is_encrypted_comment: text === null ? null : false,
    ...sale,
  };
}

/** What not every transfer of an item tells. */
const UNSAID = {
  response_destination: null,
  custom_payload: null,
  forward_amount: null,
  comment: null,
  is_encrypted_comment: null,
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

/** The terms of an offer as its contract was set up with them. The newest contracts hold only shares of the price. */
function listingDetails({ world }: Leg, message: number): object {
  const { accounts, messages } = world;
  const sale = messages.destination.get(message);
  const item = accounts.itemOfSale(sale);
  const kind = offerKind(accounts, sale) ?? 'sale';
  const least = messages.amount.get(message);
  const listed = {
    ...named(world, item),
    owner: accounts.address(messages.party.get(message)),
    listing_address: accounts.address(accounts.marketplace),
    marketplace_address: null,
    marketplace_fee_address: accounts.address(accounts.marketplace),
    royalty_address: accounts.address(accounts.author(item)),
    marketplace: marketName(world, item, kind === 'sale'),
  };
  if (kind === 'sale') {
    const fees = feesOf(world, sale, least);
    return { ...listed, sale_address: accounts.address(sale), full_price: String(least), ...fees };
  }
  return {
    ...listed,
    auction_address: accounts.address(sale),
    marketplace_fee_factor: String(marketFee(kind)),
    marketplace_fee_base: String(BASE),
    royalty_fee_base: String(BASE),
    max_bid: String(least * 100),
    min_bid: String(least),
  };
}

function feesOf({ accounts }: World, sale: number, price: number): object {
  if (accounts.indexInRole(sale) % 3 === 0) return { marketplace_fee: null, royalty_amount: null };
  const { fee, royalty } = sharesOf({ item: accounts.itemOfSale(sale), kind: 'sale' }, price);
  return { marketplace_fee: String(fee), royalty_amount: String(royalty) };
}

/** An item is bought for a fixed price; undefined if the contract did not take the coins. */
export function nftBuy(leg: Leg): NetworkAction[] | undefined {
  return succeeded(leg) ? purchase(leg, [leg.transactions[0] ?? NONE]) : undefined;
}

/** The transfer of an item together with what its seller gets. The other shares are transfers of their own. */
function purchase(leg: Leg, before: readonly number[] = []): NetworkAction[] {
  const { world, receiver } = leg;
  const [moved, payout] = [receiverOf(leg, 'nft_transfer'), receiverOf(leg, 'nft_payout')];
  if (moved === undefined || payout === undefined) return [];
  const seller = addressOrNull(world, world.transactions.account.get(payout));
  const { item } = nftParties(world, moved);
  const market = {
    marketplace: marketName(world, item, true),
    real_old_owner: seller,
    marketplace_address: world.accounts.address(world.accounts.marketplace),
  };
  const paid = {
    payout_amount: String(world.messages.value.get(messageOf(leg, payout))),
    payout_address: seller,
    payout_comment_encrypted: false,
    payout_comment_encoded: false,
  };
  const rows = [...before, ...branch(leg, moved)];
  const within = 'nft_purchase';
  const shares = world
    .childrenOf(receiver)
    .filter((row) => world.messages.opOf(messageOf(leg, row)) === 'empty');
  return [
    made(within, { rows: [...rows, payout] }, () => transferDetails(leg, moved, { ...market, ...paid })),
    made('nft_transfer', { rows, within }, () => transferDetails(leg, moved, market)),
    plain(leg, payout, 'ton_transfer', within),
    ...shares.map((row) => plain(leg, row, 'ton_transfer')),
  ];
}

/** A bid, and the refund of the one before. Coins for a domain are a bid only if they cause a refund. */
export function nftBid(leg: Leg): NetworkAction[] | undefined {
  const { world, message, receiver } = leg;
  const { accounts, messages } = world;
  const auction = messages.destination.get(message);
  const [item, kind] = [itemAt(leg), offerKind(accounts, auction)];
  const outbid = receiverOf(leg, 'nft_outbid');
  if (kind === 'domain' && outbid === undefined) return undefined;
  const [bidder, place] = [messages.source.get(message), auction].map((one) => accounts.address(one));
  const bid = made('auction_bid', { rows: pair(leg, receiver), success: succeeded(leg) }, () => ({
    amount: String(messages.value.get(message)),
    bidder,
    auction: place,
    ...named(world, item),
  }));
  if (outbid === undefined) return [bid];
  const within = 'auction_outbid';
  const marketplace = marketName(world, item, false);
  const { nft_item, nft_collection } = named(world, item);
  const returned = made(within, { rows: pair(leg, outbid) }, () => ({
    auction_address: place,
    bidder: accounts.address(world.transactions.account.get(outbid)),
    new_bidder: bidder,
    nft_item,
    nft_collection,
    amount: String(messages.value.get(messageOf(leg, outbid))),
    ...(marketplace === null ? {} : { marketplace }),
  }));
  return [bid, returned, plain(leg, outbid, kind === 'auction' ? 'ton_transfer' : 'call_contract', within)];
}

/** An offer ends without a buyer, or an auction with one. */
export function offerEnd(leg: Leg): NetworkAction[] | undefined {
  const { world, message, receiver } = leg;
  const { accounts, messages } = world;
  const place = messages.destination.get(message);
  const kind = offerKind(accounts, place);
  if (kind === 'username') return nameSold(leg);
  const moved = receiverOf(leg, 'nft_transfer');
  const part = kind === 'sale' ? 'call_contract' : 'ton_transfer';
  if (moved === undefined) return [plain(leg, receiver, part)];
  const item = itemAt(leg);
  const bought = purchase(leg);
  const { nft_item, nft_collection } = named(world, item);
  const isFinished = messages.opOf(message) === 'nft_finish';
  const type = isFinished ? 'nft_finish_auction' : `nft_cancel_${kind}`;
  const hasMarket = bought.length === 0;
  const ended = made(type, { rows: pair(leg, receiver) }, () => ({
    owner: accounts.address(nftParties(world, moved).to),
    nft_item,
    nft_collection,
    [kind === 'sale' ? 'sale_address' : 'auction_address']: accounts.address(place),
    marketplace_address: hasMarket ? accounts.address(accounts.marketplace) : null,
    marketplace: marketName(world, item, hasMarket),
  }));
  const back = made('nft_transfer', { rows: branch(leg, moved) }, () => transferDetails(leg, moved));
  return [ended, plain(leg, receiver, part, type), ...(hasMarket ? [back] : bought)];
}

/** A user name goes to who has bid most for it. The server takes coins that have no such effect for a bid. */
function nameSold(leg: Leg): NetworkAction[] | undefined {
  const { world, bocs } = leg;
  const { accounts, messages, transactions } = world;
  const assigned = receiverOf(leg, 'nft_ownership_assigned');
  if (assigned === undefined) return nftBid(leg);
  const message = messageOf(leg, assigned);
  const payouts = leg.transactions.filter((row) => row > leg.receiver && row !== assigned);
  const shares = payouts
    .map((row) => messageOf(leg, row))
    .sort((a, b) => a - b)
    .map((one) => ({
      amount: String(messages.value.get(one)),
      address: accounts.address(messages.destination.get(one)),
    }));
  const [payout, royalty] = shares.toReversed();
  const before = messages.party.get(message);
  return [
    made('nft_transfer', { rows: leg.transactions }, () => ({
      ...named(world, itemAt(leg)),
      ...(before === NONE ? {} : { old_owner: accounts.address(before) }),
      new_owner: accounts.address(transactions.account.get(assigned)),
      is_purchase: true,
      price: String(messages.amount.get(message)),
      query_id: queryId(leg.trace),
      ...UNSAID,
      forward_payload: bocs.make(message, 12, BID_INFO),
      marketplace: marketName(world, itemAt(leg), false),
      payout_amount: payout?.amount ?? null,
      payout_address: payout?.address ?? null,
      royalty_amount: royalty?.amount ?? null,
      royalty_address: royalty?.address ?? null,
    })),
  ];
}

const BID_INFO = 0x38127de1;

/** The winner of a domain sets a record of it; with that message the domain is sold. */
export function domainClaim(leg: Leg): NetworkAction[] {
  const { world, receiver } = leg;
  const change = made('change_dns', { rows: pair(leg, receiver), success: succeeded(leg) }, () =>
    fill(CHANGED_RECORD, leg),
  );
  const filled = receiverOf(leg, 'fill_up');
  if (filled === undefined) return [change];
  const price = String(world.messages.value.get(messageOf(leg, filled)));
  const bought = made('dns_purchase', { rows: pair(leg, filled) }, () => ({
    ...named(world, itemAt(leg)),
    new_owner: world.accounts.address(world.messages.source.get(leg.message)),
    price,
    query_id: queryId(leg.trace),
    payout_amount: price,
  }));
  return [change, bought];
}

export function priceChange(leg: Leg): NetworkAction[] {
  const { world, message } = leg;
  const { accounts, messages } = world;
  const [sale, price] = [messages.destination.get(message), messages.amount.get(message)];
  const { fee, royalty } = sharesOf({ item: itemAt(leg), kind: 'sale' }, price);
  return [
    made('nft_update_sale', { rows: pair(leg, leg.receiver), success: succeeded(leg) }, () => ({
      source: accounts.address(messages.source.get(message)),
      sale_contract: accounts.address(sale),
      nft_address: accounts.address(itemAt(leg)),
      marketplace_address: accounts.address(accounts.marketplace),
      marketplace: marketName(world, itemAt(leg), true),
      full_price: String(price),
      marketplace_fee: String(fee),
      royalty_amount: String(royalty),
    })),
  ];
}

/** The owner of a user name puts it up for auction, or takes it back. */
export function nameOffer(leg: Leg): NetworkAction[] {
  const { world, message } = leg;
  const { accounts, messages } = world;
  const [owner, item] = [accounts.address(messages.source.get(message)), itemAt(leg)];
  const { nft_item_index, ...names } = named(world, item);
  const marketplace = marketName(world, item, false);
  const common = {
    ...names,
    owner,
    auction_address: accounts.address(item),
    marketplace_address: null,
    marketplace,
  };
  const started = {
    ...common,
    nft_item_index,
    listing_address: null,
    marketplace_fee_factor: '0',
    marketplace_fee_base: '0',
    royalty_fee_base: '0',
    max_bid: '0',
    min_bid: String(messages.amount.get(message)),
    marketplace_fee_address: owner,
    royalty_address: null,
  };
  const isStart = messages.opOf(message) === 'tele_start';
  const about = { rows: leg.transactions, success: succeeded(leg) };
  return [
    made(isStart ? 'teleitem_start_auction' : 'teleitem_cancel_auction', about, () =>
      isStart ? started : common,
    ),
  ];
}
