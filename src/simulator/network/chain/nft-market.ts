import { mix32 } from '../../random.ts';
import type { Accounts } from './tables/accounts.ts';
import { NONE } from './tables/block-table.ts';
import type { World } from './world.ts';

/** An item on offer. A contract sells it that owns it meanwhile; a domain or a user name is its own auction. */
export interface Offer {
  readonly kind: 'sale' | 'auction' | 'domain' | 'username';
  readonly item: number;
  /** {@link NONE} if the item has had no owner yet. */
  readonly seller: number;
  /** The price, or the least bid, nanotons. */
  readonly least: number;
  /** Unix seconds. */
  readonly since: number;
  /** When an auction is over; each bid for a domain prolongs it. */
  readonly end: number;
  readonly bidder: number;
  /** 0 before the first bid. */
  readonly bid: number;
  readonly bidAt: number;
  readonly state: 'open' | 'over' | 'cancelled';
}

/** Seconds that an auction lasts. */
const DURATION = 600;

/** A message that an item, or a contract that sells one, has got. */
interface Received {
  readonly account: number;
  readonly message: number;
  readonly utime: number;
}

/** Who owns each item, and how it is offered. The network and its index both follow messages by these rules. */
export class NftMarket {
  /** By the account of the contract that sells the item, the latest offer of each. */
  readonly offers = new Map<number, Offer>();
  private readonly owners = new Map<number, number>();
  private readonly world: World;

  constructor(world: World) {
    this.world = world;
  }

  /** The owner of an item; undefined before it has one. */
  ownerOf(item: number): number | undefined {
    return this.owners.get(item);
  }

  /** Where an item is on offer now: the item itself, or its owner. */
  placeOf(item: number): number | undefined {
    return [item, this.ownerOf(item) ?? NONE].find((place) => this.offers.get(place)?.state === 'open');
  }

  /** True if the contract throws on a message: what it asks for cannot be done, or not by its sender. */
  refuses({ account, message, utime }: Received): boolean {
    const { messages } = this.world;
    const offer = this.offers.get(account);
    const sender = messages.source.get(message);
    if (messages.opOf(message) === 'nft_mint') return this.owners.has(account) || offer !== undefined;
    if (offer?.state !== 'open') {
      const byOwner = ['nft_transfer', 'tele_start'].includes(messages.opOf(message));
      return byOwner ? this.ownerOf(account) !== sender : NEEDS_OFFER.has(messages.opOf(message));
    }
    const isOver = utime >= offer.end;
    switch (messages.opOf(message)) {
      case 'nft_transfer':
      case 'tele_start':
        return true;
      case 'nft_buy':
        return messages.amount.get(message) !== offer.least;
      case 'nft_bid':
        return isOver || messages.value.get(message) < leastBid(offer);
      case 'nft_finish':
        return !isOver;
      case 'change_dns':
        return !isOver || offer.bidder !== sender;
      default:
        return NEEDS_OFFER.has(messages.opOf(message)) && (offer.bid > 0 || offer.seller !== sender);
    }
  }

  /** Takes over what a message changes that was not refused. */
  take({ account, message, utime }: Received): void {
    const { messages } = this.world;
    const offer = this.offers.get(account);
    const [sender, party] = [messages.source.get(message), messages.party.get(message)];
    const change = (changed: Partial<Offer>): void => {
      if (offer !== undefined) this.offers.set(account, { ...offer, ...changed });
    };
    switch (messages.opOf(message)) {
      case 'nft_mint':
        return this.mint(account, message, utime);
      case 'nft_transfer':
        this.owners.set(account, party);
        return;
      case 'nft_sale':
        return this.open(account, party, messages.amount.get(message), utime);
      case 'tele_start':
        return this.open(account, sender, messages.amount.get(message), utime);
      case 'nft_bid':
        return change({
          bidder: sender,
          bid: messages.value.get(message),
          bidAt: utime,
          ...this.prolonged(account, utime),
        });
      case 'nft_update':
        return change({ least: messages.amount.get(message) });
      case 'nft_cancel':
      case 'tele_cancel':
        return change({ state: 'cancelled' });
      case 'nft_buy':
      case 'nft_finish':
      case 'change_dns':
        if (offer?.item === account) this.owners.set(account, offer.bidder);
        return change({ state: 'over' });
    }
  }

  /** Plain items belong to whoever has them made; the first bid for a name makes the item, which has no owner yet. */
  private mint(account: number, message: number, utime: number): void {
    const { accounts, messages } = this.world;
    if (accounts.role(account) !== 'nft_item') return;
    const party = messages.party.get(message);
    if (accounts.kindOf(account) === 'plain') this.owners.set(account, party);
    else this.open(account, NONE, messages.value.get(message), utime, party);
  }

  /** Begins an offer; the first bidder of a name bids what is asked. */
  private open(account: number, seller: number, least: number, since: number, bidder = NONE): void {
    const { accounts } = this.world;
    const isSale = accounts.role(account) === 'nft_sale';
    const item = isSale ? accounts.itemOfSale(account) : account;
    const kind = offerKind(accounts, account);
    if (kind === undefined) return;
    const bid = bidder === NONE ? { bid: 0, bidAt: 0 } : { bid: least, bidAt: since };
    const end = since + DURATION;
    const offer: Offer = { kind, item, seller, least, since, end, bidder, ...bid, state: 'open' };
    this.offers.set(account, { ...offer, ...this.prolonged(item, since) });
  }

  private prolonged(item: number, utime: number): { readonly end?: number } {
    const { accounts } = this.world;
    const isDomain = accounts.role(item) === 'nft_item' && accounts.kindOf(item) === 'domain';
    return isDomain ? { end: utime + (mix32(item) % 2 === 0 ? 300 : 3600) } : {};
  }
}

const NEEDS_OFFER: ReadonlySet<string> = new Set([
  ...['nft_buy', 'nft_bid', 'nft_update', 'nft_cancel', 'nft_finish', 'change_dns', 'tele_cancel'],
]);

/** How a contract, or an item itself, sells an item; undefined if it never sells one. */
export function offerKind(accounts: Accounts, account: number): Offer['kind'] | undefined {
  const index = accounts.indexInRole(Math.max(0, account));
  switch (accounts.role(Math.max(0, account))) {
    case 'nft_sale':
      return mix32(index) % 2 === 0 ? 'auction' : 'sale';
    case 'nft_item': {
      const kind = accounts.kindOf(account);
      return kind === 'plain' ? undefined : kind;
    }
    default:
      return undefined;
  }
}

/** The least bid that an auction takes. */
export function leastBid({ bid, least }: Offer): number {
  return bid === 0 ? least : Math.ceil(bid * 1.05);
}

/** What the market and the author get of a price, nanotons. Some items bring no royalty; the market takes nothing of names. */
export function sharesOf(
  { item, kind }: Pick<Offer, 'item' | 'kind'>,
  price: number,
): { readonly fee: number; readonly royalty: number } {
  const share = (percent: number): number => Math.floor((price * percent) / BASE);
  return { fee: share(marketFee(kind)), royalty: share(royaltyPercent(item)) };
}

/** Fees are parts of a hundred. */
export const BASE = 100;

export const marketFee = (kind: Offer['kind']): number => (kind === 'username' ? 0 : 5);

export const royaltyPercent = (item: number): number =>
  mix32(item + 5) % 6 === 0 ? 0 : 1 + (mix32(item) % 10);

/** The index of an item in its collection: of names, a hash of the name. */
export function itemIndex({ accounts, hashes }: World, item: number): string {
  if (accounts.kindOf(item) === 'plain') return String(accounts.indexInRole(item));
  return String(BigInt(`0x${hashes('name').hex(item)}`));
}

/** A domain without `.ton`, or a user name. */
export function nameOf(accounts: Accounts, item: number): string {
  return `${accounts.kindOf(item)}${accounts.indexInRole(item)}`;
}
