import type { BocMaker } from '../chain/boc.ts';
import type { World } from '../chain/world.ts';
import type { View } from '../../network-view.ts';
import { accountStateJson } from '../../json/account-state-json.ts';
import * as accounts from './account-entities.ts';
import { WorldState } from './world-state.ts';
import { isUnreadable, jettonDecimals, jettonSymbol, lpContent } from '../../json/address-book-json.ts';
import { jettonUnits } from '../../json/payload.ts';
import { mix32 } from '../../random.ts';
import {
  BASE,
  itemIndex,
  leastBid,
  marketFee,
  nameOf,
  royaltyPercent,
  sharesOf,
  type Offer,
} from '../chain/nft-market.ts';
import { NONE } from '../chain/tables/block-table.ts';

/** The contracts of a network at one moment, for lists and look-ups. Lists are in the order of ids. */
export interface Entities {
  jettonMasters(): JettonMasterJson[];
  jettonWallets(): JettonWalletJson[];
  nftCollections(): NftCollectionJson[];
  nftItems(): NftItemJson[];
  nftSales(): NftSaleJson[];
  accountState(address: string, includeBoc: boolean): accounts.AccountStateFullJson | undefined;
  /** Greatest balance first. */
  balances(): { readonly account: string; readonly balance: string }[];
  multisigs(withOrders: boolean): accounts.MultisigJson[];
  multisigOrders(parseActions: boolean): accounts.MultisigOrderJson[];
  vestings(): accounts.VestingJson[];
  /** By length of the domain. */
  dnsRecords(): accounts.DnsRecordJson[];
  /** By their end. */
  dnsAuctions(): accounts.DnsAuctionJson[];
}

/** The entities of a recorded network: nothing is recorded of them. */
export const NO_ENTITIES: Entities = {
  jettonMasters: () => [],
  jettonWallets: () => [],
  nftCollections: () => [],
  nftItems: () => [],
  nftSales: () => [],
  accountState: () => undefined,
  balances: () => [],
  multisigs: () => [],
  multisigOrders: () => [],
  vestings: () => [],
  dnsRecords: () => [],
  dnsAuctions: () => [],
};

/** Entities of a generated network. The last moment that was asked for is kept: most requests ask for the same one. */
export class ChainEntities {
  private readonly world: World;
  private readonly bocs: BocMaker;
  private readonly visible: (view: View, row: number) => boolean;
  private kept: { readonly key: string; readonly entities: Entities } | undefined;

  constructor(world: World, bocs: BocMaker, visible: (view: View, row: number) => boolean) {
    this.world = world;
    this.bocs = bocs;
    this.visible = visible;
  }

  at(view: View): Entities {
    const key = `${String(view.head)} ${Math.floor(view.headTime)} ${this.world.transactions.count}`;
    if (this.kept?.key !== key) {
      const state = new WorldState(this.world, (row) => this.visible(view, row));
      this.kept = { key, entities: entitiesOf(state, this.bocs, this.newestBlock(view.headTime)) };
    }
    return this.kept.entities;
  }

  /** The second of the newest masterchain block at a moment. */
  private newestBlock(moment: number): number {
    const { utime } = this.world.ticks;
    return utime.get(Math.max(0, utime.lowerBound(Math.floor(moment) + 1) - 1));
  }
}

function entitiesOf(state: WorldState, bocs: BocMaker, now: number): Entities {
  const { world } = state;
  const once = <T>(make: () => T): (() => T) => {
    let made: { readonly value: T } | undefined;
    return () => (made ??= { value: make() }).value;
  };
  const offers = [...state.market.offers];
  const domains = () =>
    offers.filter(([, { kind }]) => kind === 'domain').map(([item]) => accounts.domainRecord(state, item));
  return {
    jettonMasters: once(() => state.masters().map((one) => jettonMaster(state, one))),
    jettonWallets: once(() => state.ofRole('jetton_wallet').map((one) => jettonWallet(state, one))),
    nftCollections: once(() => state.ofRole('nft_collection').map((one) => nftCollection(state, one))),
    nftItems: once(() => state.ofRole('nft_item').map((one) => nftItem(state, one))),
    nftSales: once(() =>
      offers.filter(([, { kind }]) => kind !== 'domain').map(([one, offer]) => nftSale(state, one, offer)),
    ),
    accountState: (address, includeBoc) => {
      const account = world.accounts.find(address);
      return account === undefined ? undefined : accounts.accountState(state, bocs, account, includeBoc);
    },
    balances: once(() => balances(state)),
    multisigs: (withOrders) =>
      accounts.multisigs(state).map((one) => accounts.multisig(state, bocs, one, withOrders)),
    multisigOrders: (parse) =>
      accounts.multisigs(state).flatMap((one) => accounts.orders(state, bocs, one, parse)),
    vestings: () => accounts.vestings(state).map((one) => accounts.vesting(state, one)),
    dnsRecords: once(() =>
      [...state.order.flatMap((one) => accounts.dnsRecord(state, one) ?? []), ...domains()].sort(
        (a, b) => a.domain.length - b.domain.length || (a.domain < b.domain ? -1 : 1),
      ),
    ),
    dnsAuctions: once(() =>
      offers
        .filter(([, { kind, state: progress }]) => kind === 'domain' && progress === 'open')
        .map(([, offer]) => accounts.dnsAuction(state, offer, now))
        .sort((a, b) => Number(a.auction_end_time) - Number(b.auction_end_time)),
    ),
  };
}

function balances({ world, last }: WorldState): { account: string; balance: string }[] {
  return [...last]
    .map(([account, row]) => ({
      account: world.accounts.address(account),
      balance: accountStateJson(world, row).balance ?? '0',
    }))
    .sort((a, b) => Number(b.balance) - Number(a.balance));
}

/** What is the same in every entity: where it is, its hashes, and the lt of the transaction that left its state. */
interface ContractJson {
  readonly address: string;
  readonly last_transaction_lt: string;
  readonly code_hash: string | null;
  readonly data_hash: string | null;
}

export interface JettonMasterJson extends ContractJson {
  readonly total_supply: string;
  readonly mintable: boolean;
  readonly admin_address: string | null;
  readonly jetton_content: object | null;
  readonly jetton_wallet_code_hash: string;
}

export interface JettonWalletJson extends ContractJson {
  readonly balance: string;
  readonly owner: string;
  readonly jetton: string;
  readonly mintless_info?: object;
}

interface NftCollectionJson extends ContractJson {
  readonly owner_address: string | null;
  readonly next_item_index: string;
  readonly collection_content: object | null;
}

interface NftItemJson extends ContractJson {
  readonly init: boolean;
  readonly index: string;
  readonly collection_address: string | null;
  readonly owner_address: string | null;
  readonly content: object | null;
  readonly collection: NftCollectionJson | null;
  readonly on_sale: boolean;
  readonly sale_contract_address?: string | undefined;
  readonly auction_contract_address?: string | undefined;
  readonly real_owner?: string | undefined;
}

interface NftSaleJson {
  readonly type: string;
  readonly address: string;
  readonly nft_address?: string;
  readonly nft_owner_address?: string;
  readonly marketplace_address?: string;
  readonly created_at?: number;
  readonly last_transaction_lt?: string;
  readonly code_hash?: string;
  readonly data_hash?: string;
  readonly details: object;
  readonly nft_item?: NftItemJson;
}

function contract(state: WorldState, account: number): ContractJson {
  const { world, last } = state;
  const row = last.get(account) ?? 0;
  const { code_hash, data_hash } = accountStateJson(world, row);
  return {
    address: world.accounts.address(account),
    last_transaction_lt: String(world.transactions.lt.get(row)),
    code_hash,
    data_hash,
  };
}

function jettonMaster(state: WorldState, account: number): JettonMasterJson {
  const { accounts, hashes } = state.world;
  const index = accounts.indexInRole(account);
  const isLp = accounts.isExchange(account);
  return {
    ...contract(state, account),
    total_supply: jettonUnits(accounts, account, state.supplyOf(account)),
    mintable: isLp || index % 3 !== 0,
    admin_address: isLp || index % 5 === 0 ? null : accounts.address(accounts.account('wallet', index)),
    jetton_content: isLp ? { ...lpContent(index), decimals: '9' } : jettonContent(index),
    jetton_wallet_code_hash: hashes('code jetton_wallet').text(0),
  };
}

/** All on chain, on chain with unusual decimals, only as a URI, or unreadable. */
function jettonContent(index: number): object | null {
  if (isUnreadable(index)) return null;
  if (index % 4 === 3) return { uri: `https://example.org/coin/${index}.json` };
  const decimals = jettonDecimals(index);
  return {
    name: `Simulated coin ${index}`,
    symbol: jettonSymbol(index),
    ...(decimals === undefined ? {} : { decimals }),
    description: 'A coin of the simulated network',
  };
}

function jettonWallet(state: WorldState, account: number): JettonWalletJson {
  const { accounts } = state.world;
  const owner = accounts.jettonWalletOwner(account);
  const index = accounts.indexInRole(account);
  return {
    ...contract(state, account),
    balance: jettonUnits(accounts, accounts.masterOf(account), state.tokensOf(account)),
    owner: accounts.address(owner),
    jetton: accounts.address(accounts.masterOf(account)),
    ...(index % 8 === 0 && !accounts.isExchange(owner) ? { mintless_info: mintless(index) } : {}),
  };
}

function mintless(index: number): object {
  if (index % 16 === 0)
    return { amount: null, start_from: null, expire_at: null, custom_payload_api_uri: null };
  return {
    amount: String(mix32(index)),
    start_from: 1_760_000_000,
    expire_at: 1_790_000_000 + index,
    custom_payload_api_uri: [`https://example.org/claim/${index}`, 'https://example.org/"claim"'],
  };
}

function nftCollection(state: WorldState, account: number): NftCollectionJson {
  const { accounts } = state.world;
  const index = accounts.indexInRole(account);
  const items = state.ofRole('nft_item').filter((item) => accounts.collection(item) === account);
  return {
    ...contract(state, account),
    owner_address: index % 4 === 3 ? null : accounts.address(accounts.account('wallet', index)),
    next_item_index: String(items.length),
    collection_content: index % 5 === 4 ? null : { name: `Collection ${index}`, cover: { size: 12.5 } },
  };
}

function nftItem(state: WorldState, account: number): NftItemJson {
  const { accounts } = state.world;
  const index = accounts.indexInRole(account);
  const owner = state.market.ownerOf(account);
  const offer = owner === undefined ? undefined : state.market.offers.get(owner);
  const at = owner === undefined ? undefined : accounts.address(owner);
  const collection = accounts.collection(account);
  const isKnown = accounts.hasCollection(account);
  return {
    ...contract(state, account),
    init: true,
    index: itemIndex(state.world, account),
    collection_address: isKnown ? accounts.address(collection) : null,
    owner_address: at ?? null,
    content: itemContent(state.world, account, index),
    collection: isKnown ? nftCollection(state, collection) : null,
    on_sale: offer !== undefined,
    ...(offer?.kind === 'sale' ? { sale_contract_address: at } : {}),
    ...(offer?.kind === 'auction' ? { auction_contract_address: at } : {}),
    ...(offer === undefined ? {} : { real_owner: accounts.address(offer.seller) }),
  };
}

/** What an item says of itself: a domain its name, a user name where it is described. */
function itemContent({ accounts }: World, item: number, index: number): object | null {
  switch (accounts.kindOf(item)) {
    case 'domain':
      return { domain: `${nameOf(accounts, item)}.ton` };
    case 'username':
      return { uri: `https://nft.fragment.com/username/${nameOf(accounts, item)}.json` };
    case 'plain':
      return index % 6 === 5 ? null : { uri: `https://example.org/item/${index}.json` };
  }
}

/** An item as it comes with its sale: nothing in it speaks of a sale, and of a name even less is known. */
function bareItem(item: NftItemJson, name: string | undefined): NftItemJson {
  const known = {
    ...item,
    on_sale: false,
    sale_contract_address: undefined,
    auction_contract_address: undefined,
    real_owner: undefined,
  };
  return name === undefined
    ? known
    : { ...known, index: name, owner_address: null, collection_address: null, collection: null };
}

/** What a contract that sells an item tells of it, and goes on to tell once the item is sold. */
function nftSale(state: WorldState, account: number, offer: Offer): NftSaleJson {
  const { world } = state;
  const { accounts } = world;
  const nft = nftItem(state, offer.item);
  const { code_hash, data_hash, address, last_transaction_lt } = contract(state, account);
  const name = offer.kind === 'username' ? nameOf(accounts, offer.item) : undefined;
  const common = {
    address,
    nft_address: nft.address,
    nft_item: bareItem(nft, name),
    last_transaction_lt,
    ...(code_hash === null || data_hash === null ? {} : { code_hash, data_hash }),
  };
  if (name !== undefined) return { type: 'telemint', ...common, details: telemint(world, offer, name) };
  return {
    type: offer.kind === 'sale' ? 'getgems_sale' : 'getgems_auction',
    ...common,
    nft_owner_address: accounts.address(offer.seller),
    marketplace_address: accounts.address(accounts.marketplace),
    created_at: offer.since,
    details: offer.kind === 'sale' ? fixedPrice(world, offer) : auction(world, offer),
  };
}

/** A sale at a fixed price. */
function fixedPrice({ accounts }: World, offer: Offer) {
  const { fee, royalty } = sharesOf(offer, offer.least);
  return {
    is_complete: offer.state !== 'open',
    full_price: String(offer.least),
    marketplace_fee_address: accounts.address(accounts.marketplace),
    marketplace_fee: String(fee),
    royalty_address: accounts.address(accounts.author(offer.item)),
    royalty_amount: String(royalty),
  };
}

/** An auction; members without a value are left out. */
function auction({ accounts }: World, offer: Offer) {
  const { state, end, bid, bidder, bidAt, least, item } = offer;
  return {
    end_flag: state !== 'open',
    end_time: end,
    last_bid: String(bid),
    ...(bid > 0 ? { last_member: accounts.address(bidder) } : {}),
    min_step: 5,
    mp_fee_address: accounts.address(accounts.marketplace),
    mp_fee_factor: marketFee('auction'),
    mp_fee_base: BASE,
    royalty_fee_address: accounts.address(accounts.author(item)),
    royalty_fee_factor: royaltyPercent(item),
    royalty_fee_base: BASE,
    max_bid: String(least * 100),
    min_bid: String(least),
    last_bid_at: bidAt,
    is_canceled: state === 'cancelled',
  };
}

/** The auction of a user name; sold names have none. */
function telemint({ accounts }: World, offer: Offer, name: string): object {
  const { state, bid, bidder, bidAt, end, seller, least, item } = offer;
  const royalty = {
    royalty_numerator: royaltyPercent(item),
    royalty_denominator: BASE,
    royalty_destination: accounts.address(accounts.author(item)),
  };
  if (state !== 'open') return { token_name: name, ...royalty };
  return {
    token_name: name,
    ...(bid > 0 ? { bidder_address: accounts.address(bidder), bid: String(bid), bid_ts: String(bidAt) } : {}),
    min_bid: String(leastBid(offer)),
    end_time: end,
    beneficiary_address: accounts.address(seller === NONE ? accounts.marketplace : seller),
    initial_min_bid: String(least),
    max_bid: '0',
    min_bid_step: '5',
    min_extend_time: '3600',
    duration: '604800',
    ...royalty,
  };
}
