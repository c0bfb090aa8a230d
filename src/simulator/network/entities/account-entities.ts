import type { BocMaker } from '../chain/boc.ts';
import { accountStateJson } from '../../json/account-state-json.ts';
import { addressBook } from '../../json/address-book-json.ts';
import { mix32 } from '../../random.ts';
import { nameOf, type Offer } from '../chain/nft-market.ts';
import type { WorldState } from './world-state.ts';

export interface AccountStateFullJson {
  readonly address: string;
  readonly account_state_hash: string;
  readonly balance: string | null;
  readonly extra_currencies: object | null;
  readonly status: string | null;
  readonly frozen_hash?: string;
  readonly last_transaction_hash: string;
  readonly last_transaction_lt: string;
  readonly data_hash?: string;
  readonly code_hash?: string;
  readonly data_boc?: string;
  readonly code_boc?: string;
  readonly contract_methods: readonly number[] | null;
  readonly interfaces: readonly string[] | null;
  readonly suspended?: boolean;
}

/** An account as it is now; undefined if the index has never met it. */
export function accountState(
  state: WorldState,
  bocs: BocMaker,
  account: number,
  includeBoc: boolean,
): AccountStateFullJson | undefined {
  const { world, last } = state;
  const row = last.get(account);
  if (row === undefined) return undefined;
  const own = accountStateJson(world, row);
  const address = world.accounts.address(account);
  const deployed = own.code_hash !== null;
  const known = addressBook(world, [address])[address];
  return {
    address,
    account_state_hash: own.hash,
    balance: own.balance ?? '0',
    extra_currencies: own.extra_currencies ?? {},
    status: own.account_status ?? 'nonexist',
    ...(own.frozen_hash === null ? {} : { frozen_hash: own.frozen_hash }),
    last_transaction_hash: world.hashes('transaction').text(row),
    last_transaction_lt: String(world.transactions.lt.get(row)),
    ...hashesOf(own),
    ...(deployed && includeBoc ? { data_boc: bocs.make(row, 90), code_boc: bocs.make(account, 300) } : {}),
    contract_methods: deployed ? [85_143, 78_748 + (account % 3)] : null,
    interfaces: interfacesOf(known),
    ...(mix32(account) % 50 === 0 ? { suspended: true } : {}),
  };
}

/** The hashes that a state has; what it lacks is left out. */
function hashesOf(state: {
  readonly data_hash: string | null;
  readonly code_hash: string | null;
}): Pick<AccountStateFullJson, 'data_hash' | 'code_hash'> {
  return {
    ...(state.data_hash === null ? {} : { data_hash: state.data_hash }),
    ...(state.code_hash === null ? {} : { code_hash: state.code_hash }),
  };
}

function interfacesOf(entry: object | undefined): readonly string[] | null {
  if (entry === undefined || !('interfaces' in entry) || !Array.isArray(entry.interfaces)) return null;
  return entry.interfaces.map(String);
}

export interface OrderActionJson {
  readonly destination: string | null;
  readonly value: string | null;
  readonly body_raw: string;
  readonly parsed: boolean;
  readonly error: string | null;
  readonly parsed_body: object | null;
  readonly parsed_body_type: string;
  readonly send_mode: number;
}

export interface MultisigOrderJson {
  readonly address: string;
  readonly multisig_address: string;
  readonly order_seqno: string;
  readonly threshold: number;
  readonly sent_for_execution: boolean;
  readonly approvals_mask: string;
  readonly approvals_num: number;
  readonly expiration_date: number;
  readonly order_boc: string;
  readonly signers: readonly string[];
  readonly last_transaction_lt: string;
  readonly code_hash: string;
  readonly data_hash: string;
  readonly actions: readonly OrderActionJson[] | null;
}

export interface MultisigJson {
  readonly address: string;
  readonly next_order_seqno: string;
  readonly threshold: number;
  readonly signers: readonly string[];
  readonly proposers: readonly string[];
  readonly last_transaction_lt: string;
  readonly code_hash: string;
  readonly data_hash: string;
  readonly orders: readonly MultisigOrderJson[] | null;
}

/** Orders of a multisig wallet. */
const ORDERS = 3;

/** Every second contract that is no pool is a multisig wallet, the others lock money up. */
function contractsOfKind(state: WorldState, kind: 0 | 1): number[] {
  const { world } = state;
  return state
    .ofRole('contract')
    .filter((account) => !world.isPool(account) && world.accounts.indexInRole(account) % 2 === kind);
}

export function multisigs(state: WorldState): number[] {
  return contractsOfKind(state, 0);
}

export function vestings(state: WorldState): number[] {
  return contractsOfKind(state, 1);
}

function wallets({ world }: WorldState, key: number, count: number): string[] {
  return Array.from({ length: count }, (_, at) =>
    world.accounts.address(world.accounts.account('wallet', mix32(key * 31 + at) % world.accounts.wallets)),
  );
}

export function multisig(
  state: WorldState,
  bocs: BocMaker,
  account: number,
  withOrders: boolean,
): MultisigJson {
  const { world, last } = state;
  return {
    address: world.accounts.address(account),
    next_order_seqno: String(ORDERS),
    threshold: 2,
    signers: wallets(state, account, 3),
    proposers: account % 3 === 0 ? [] : wallets(state, account + 1, 1),
    last_transaction_lt: String(world.transactions.lt.get(last.get(account) ?? 0)),
    code_hash: world.hashes('code multisig').text(0),
    data_hash: world.hashes('data').text(account),
    orders: withOrders ? orders(state, bocs, account, false) : null,
  };
}

export function orders(
  state: WorldState,
  bocs: BocMaker,
  account: number,
  parse: boolean,
): MultisigOrderJson[] {
  const { world, last } = state;
  return Array.from({ length: ORDERS }, (_, seqno) => ({
    address: `0:${world.hashes('order').hex(account * ORDERS + seqno)}`,
    multisig_address: world.accounts.address(account),
    // Wallets that do not count on: beyond 64 bits.
    order_seqno: seqno === 2 ? `${2n ** 200n + BigInt(account)}` : String(seqno),
    threshold: 2,
    sent_for_execution: seqno === 0,
    approvals_mask: String(1 << seqno),
    approvals_num: seqno,
    expiration_date: 1_790_000_000 + seqno,
    order_boc: bocs.make(account * ORDERS + seqno, 120),
    signers: wallets(state, account, 3),
    last_transaction_lt: String(world.transactions.lt.get(last.get(account) ?? 0)),
    code_hash: world.hashes('code order').text(0),
    data_hash: world.hashes('data').text(account + seqno),
    actions: parse ? orderActions(state, bocs, account * ORDERS + seqno) : null,
  }));
}

function orderActions(state: WorldState, bocs: BocMaker, order: number): OrderActionJson[] {
  const [destination = null] = wallets(state, order, 1);
  const sent = {
    destination,
    value: String(mix32(order)),
    body_raw: bocs.make(order, 40),
    parsed: true,
    error: null,
    parsed_body: { query_id: order, comment: 'thanks' },
    parsed_body_type: 'text_comment',
    send_mode: 3,
  };
  const unread = {
    destination: null,
    value: null,
    body_raw: bocs.make(order + 1, 40),
    parsed: false,
    error: 'unknown opcode',
    parsed_body: null,
    parsed_body_type: 'unknown',
    send_mode: 1,
  };
  return order % 2 === 0 ? [sent] : [sent, unread];
}

export interface VestingJson {
  readonly address: string;
  readonly start_time: number;
  readonly total_duration: number;
  readonly unlock_period: number;
  readonly cliff_duration: number;
  readonly sender_address: string;
  readonly owner_address: string;
  readonly total_amount: string;
  readonly whitelist: readonly string[];
}

export function vesting(state: WorldState, account: number): VestingJson {
  const [sender = '', owner = ''] = wallets(state, account, 2);
  return {
    address: state.world.accounts.address(account),
    start_time: 1_750_000_000,
    total_duration: 31_104_000,
    unlock_period: 2_592_000,
    cliff_duration: 0,
    sender_address: sender,
    owner_address: owner,
    total_amount: '500000000000',
    whitelist: [...new Set(wallets(state, account + 7, account % 4))],
  };
}

export interface DnsRecordJson {
  readonly nft_item_address: string;
  readonly nft_item_owner: string | null;
  readonly domain: string;
  readonly dns_next_resolver: string | null;
  readonly dns_wallet: string | null;
  readonly dns_site_adnl: string | null;
  readonly dns_storage_bag_id: string | null;
}

/** The record of a wallet's domain, if it has one: as its address book entry says. */
export function dnsRecord({ world }: WorldState, wallet: number): DnsRecordJson | undefined {
  const { accounts } = world;
  if (accounts.role(wallet) !== 'wallet' || accounts.isExchange(wallet) || mix32(wallet) % 20 !== 0)
    return undefined;
  const address = accounts.address(wallet);
  return {
    nft_item_address: `0:${world.hashes('domain').hex(wallet)}`,
    nft_item_owner: wallet % 3 === 0 ? null : address,
    domain: `w${wallet}.ton`,
    dns_next_resolver: wallet % 5 === 0 ? accounts.address(accounts.giver) : null,
    dns_wallet: address,
    dns_site_adnl: wallet % 2 === 0 ? world.hashes('adnl').hex(wallet) : null,
    dns_storage_bag_id: wallet % 7 === 0 ? world.hashes('bag').hex(wallet) : null,
  };
}

export interface DnsAuctionJson {
  readonly nft_item_address: string;
  readonly domain: string;
  readonly max_bid_address: string;
  readonly max_bid_amount: string;
  readonly auction_end_time: string;
  readonly last_fill_up_time: string;
  readonly finished: boolean;
}

/** The record of a domain that was bid for; its winner gives it an address on the TON network. */
export function domainRecord({ world, market }: WorldState, item: number): DnsRecordJson {
  const owner = market.ownerOf(item);
  return {
    nft_item_address: world.accounts.address(item),
    nft_item_owner: owner === undefined ? null : world.accounts.address(owner),
    domain: `${nameOf(world.accounts, item)}.ton`,
    dns_next_resolver: null,
    dns_wallet: null,
    dns_site_adnl: owner === undefined ? null : world.hashes('adnl').hex(item),
    dns_storage_bag_id: null,
  };
}

/** The auction of a domain: the highest bid leads, and each one prolongs it. */
export function dnsAuction({ world }: WorldState, offer: Offer, now: number): DnsAuctionJson {
  const { item, bidder, bid, end, since } = offer;
  return {
    nft_item_address: world.accounts.address(item),
    domain: `${nameOf(world.accounts, item)}.ton`,
    max_bid_address: world.accounts.address(bidder),
    max_bid_amount: String(bid),
    auction_end_time: String(end),
    last_fill_up_time: String(since),
    finished: end <= now,
  };
}
