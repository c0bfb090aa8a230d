import { mix32 } from '../../random.ts';
import type { Accounts } from './tables/accounts.ts';
import { NONE } from './tables/block-table.ts';
import type { Op } from './tables/message-table.ts';
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

/** The same, as the rules see it. */
interface Asked extends Received {
  readonly market: NftMarket;
  readonly offer: Offer | undefined;
  readonly sender: number;
  readonly party: number;
  readonly amount: number;
  readonly value: number;
}

/** What a contract does with a message: it throws if what that asks for cannot be done, or not by its sender. */
interface Rule {
  readonly refuses: (asked: Asked) => boolean;
  readonly take: (asked: Asked) => void;
}

/** Who owns each item, and how it is offered. The network and its index both follow messages by these rules. */
export class NftMarket {
  /** By the account of the contract that sells the item, the latest offer of each. */
  readonly offers = new Map<number, Offer>();
  readonly owners = new Map<number, number>();
  readonly world: World;

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

  refuses(received: Received): boolean {
    return this.ruleOf(received)?.refuses(this.asked(received)) ?? false;
  }

  /** Takes over what a message changes that was not refused. */
  take(received: Received): void {
    this.ruleOf(received)?.take(this.asked(received));
  }

  private ruleOf({ message }: Received): Rule | undefined {
    return RULES[this.world.messages.opOf(message)];
  }

  private asked(received: Received): Asked {
    const { messages } = this.world;
    const { account, message } = received;
    return {
      ...received,
      market: this,
      offer: this.offers.get(account),
      sender: messages.source.get(message),
      party: messages.party.get(message),
      amount: messages.amount.get(message),
      value: messages.value.get(message),
    };
  }
}

const isOpen = ({ offer }: Asked): boolean => offer?.state === 'open';
const isOver = ({ offer, utime }: Asked): boolean => offer !== undefined && utime >= offer.end;

/** True unless the sender owns the item, and it is not on offer. */
const byOthers = (asked: Asked): boolean =>
  isOpen(asked) || asked.market.ownerOf(asked.account) !== asked.sender;

/** True unless the sender offers the item, and it has no bids. */
const tooLate = (asked: Asked): boolean =>
  !isOpen(asked) || asked.offer?.bid !== 0 || asked.offer.seller !== asked.sender;

function change({ market, account, offer }: Asked, changed: Partial<Offer>): void {
  if (offer !== undefined) market.offers.set(account, { ...offer, ...changed });
}

/** A name that is sold belongs to its highest bidder. Other items are given to the buyer by a message. */
function end(asked: Asked): void {
  const { market, account, offer } = asked;
  if (offer?.item === account && offer.bid > 0) market.owners.set(account, offer.bidder);
  change(asked, { state: 'over' });
}

/** Begins an offer; the first bid for a name makes the item, which has no owner yet. */
function open({ market, account, utime }: Asked, seller: number, least: number, bidder = NONE): void {
  const { accounts } = market.world;
  const kind = offerKind(accounts, account);
  if (kind === undefined) return;
  const item = accounts.role(account) === 'nft_sale' ? accounts.itemOfSale(account) : account;
  const offer = {
    kind,
    item,
    seller,
    least,
    since: utime,
    end: utime + DURATION,
    bidder,
    state: 'open',
  } as const;
  const bid = bidder === NONE ? { bid: 0, bidAt: 0 } : { bid: least, bidAt: utime };
  market.offers.set(account, { ...offer, ...bid, ...prolonged(kind, item, utime) });
}

function prolonged(kind: Offer['kind'] | undefined, item: number, utime: number): { readonly end?: number } {
  return kind === 'domain' ? { end: utime + (mix32(item) % 2 === 0 ? 300 : 3600) } : {};
}

const RULES: Readonly<Partial<Record<Op, Rule>>> = {
  nft_mint: {
    refuses: ({ market, account, offer }) => market.owners.has(account) || offer !== undefined,
    take: (asked) => {
      const { market, account, party, value } = asked;
      const { accounts } = market.world;
      if (accounts.role(account) !== 'nft_item') return;
      if (accounts.kindOf(account) === 'plain') market.owners.set(account, party);
      else open(asked, NONE, value, party);
    },
  },
  nft_transfer: {
    refuses: byOthers,
    take: ({ market, account, party }) => market.owners.set(account, party),
  },
  nft_sale: { refuses: () => false, take: (asked) => open(asked, asked.party, asked.amount) },
  nft_buy: { refuses: (asked) => !isOpen(asked) || asked.amount !== asked.offer?.least, take: end },
  nft_bid: {
    refuses: (asked) =>
      !isOpen(asked) || isOver(asked) || (asked.offer !== undefined && asked.value < leastBid(asked.offer)),
    take: (asked) => {
      const { sender: bidder, value: bid, utime: bidAt, account, offer } = asked;
      change(asked, { bidder, bid, bidAt, ...prolonged(offer?.kind, account, bidAt) });
    },
  },
  nft_update: { refuses: tooLate, take: (asked) => change(asked, { least: asked.amount }) },
  nft_cancel: { refuses: tooLate, take: (asked) => change(asked, { state: 'cancelled' }) },
  nft_finish: { refuses: (asked) => !isOpen(asked) || !isOver(asked), take: end },
  change_dns: {
    refuses: (asked) => !isOpen(asked) || !isOver(asked) || asked.offer?.bidder !== asked.sender,
    take: end,
  },
  tele_start: { refuses: byOthers, take: (asked) => open(asked, asked.sender, asked.amount) },
  tele_cancel: { refuses: tooLate, take: (asked) => change(asked, { state: 'cancelled' }) },
};

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
