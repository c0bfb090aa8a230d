import type { DnsRecordJson } from '../../network/entities/account-entities.ts';
import type { Entities } from '../../network/entities/entities.ts';
import { cutPage, parsePaging } from '../paging.ts';
import {
  addressBookMember,
  metadataMember,
  type RouteRequest,
  type Routes,
  EVERYTHING,
  ltRange,
  utimeRange,
  within,
} from '../route.ts';
import { ServedError } from '../served-error.ts';
import type { TokenParties, TokenSource } from '../../ledger.ts';
import { shuffleTies, walk } from '../../simulator-rows.ts';

/** Contracts as they are now: lists in the order of ids, and look-ups by address. */
export const entityRoutes: Routes = {
  '/api/v3/jetton/masters': (request) =>
    lists(request, 'jetton_masters', (entities) => entities.jettonMasters(), [
      ['address', 'address'],
      ['admin_address', 'admin_address'],
    ]),
  '/api/v3/jetton/wallets': (request) =>
    lists(request, 'jetton_wallets', (entities) => entities.jettonWallets(), [
      ['address', 'address'],
      ['owner_address', 'owner'],
      ['jetton_address', 'jetton'],
    ]),
  '/api/v3/nft/collections': (request) =>
    lists(request, 'nft_collections', (entities) => entities.nftCollections(), [
      ['collection_address', 'address'],
      ['owner_address', 'owner_address'],
    ]),
  '/api/v3/nft/items': (request) =>
    lists(request, 'nft_items', (entities) => entities.nftItems(), [
      ['address', 'address'],
      ['owner_address', 'owner_address'],
      ['collection_address', 'collection_address'],
    ]),
  '/api/v3/nft/sales': sales,
  '/api/v3/accountStates': accountStates,
  '/api/v3/addressBook': ({ query, ledger }) =>
    JSON.stringify(ledger.addressBook(required(query.addresses('address')))),
  '/api/v3/metadata': ({ query, ledger }) =>
    JSON.stringify(ledger.metadata(required(query.addresses('address')))),
  '/api/v3/topAccountsByBalance': topAccounts,
  '/api/v3/multisig/wallets': multisigWallets,
  '/api/v3/multisig/orders': multisigOrders,
  '/api/v3/vesting': vesting,
  '/api/v3/dns/records': dnsRecords,
};

/** Those that only build 1.3 knows. */
export const newEntityRoutes: Routes = { '/api/v3/dns/activeAuctions': dnsAuctions };

type Filter = readonly [parameter: string, member: string];

/** Most of these refuse a limit with a 500 on both builds, two with a 422. */
function page<T>({ query }: RouteRequest, rows: readonly T[], refusedWith: 422 | 500 = 500): T[] {
  const paging = parsePaging(query, refusedWith === 500 ? '1.2' : '1.3');
  return cutPage(rows.keys(), paging).flatMap((index) => rows[index] ?? []);
}

/** With a filter by address the query has no order at all. */
function lists(
  request: RouteRequest,
  member: string,
  rowsOf: (entities: Entities) => readonly object[],
  filters: readonly Filter[],
): string {
  const { query, ledger, view, random } = request;
  const wanted = filters
    .map(([parameter, name]) => ({ name, values: new Set(query.addresses(parameter)) }))
    .filter(({ values }) => values.size > 0);
  const rows = rowsOf(ledger.entities.at(view)).filter((row) =>
    wanted.every(({ name, values }) => values.has(String(Reflect.get(row, name)))),
  );
  const ordered = wanted.length === 0 ? rows : random.shuffle([...rows]);
  return answer(request, member, page(request, ordered), true);
}

/** Addresses that stand anywhere in the rows, for the address book. */
function addressesIn(rows: readonly object[]): string[] {
  return [...new Set(JSON.stringify(rows).match(/-?\d+:[0-9A-F]{64}/g) ?? [])];
}

function answer(request: RouteRequest, member: string, rows: readonly object[], metadata: boolean): string {
  const addresses = () => addressesIn(rows);
  const book = addressBookMember(request, addresses);
  const more = metadata ? `,${metadataMember(request, addresses)}` : '';
  return `{"${member}":${JSON.stringify(rows)},${book}${more}}`;
}

function required(addresses: string[], otherwise = 'at least 1 address required'): string[] {
  if (addresses.length === 0) throw new ServedError(422, otherwise);
  return addresses;
}

function sales(request: RouteRequest): string {
  const asked = required(request.query.addresses('address'));
  if (asked.length > 1000) throw new ServedError(422, 'maximum 1000 addresses allowed');
  const wanted = new Set(asked);
  const found = request.ledger.entities.at(request.view).nftSales();
  return answer(
    request,
    'nft_sales',
    found.filter(({ address }) => wanted.has(address)),
    true,
  );
}

/** Unknown accounts are left out, and so is what lies beyond the query's own limit. */
function accountStates(request: RouteRequest): string {
  const { query, ledger, view, random } = request;
  const entities = ledger.entities.at(view);
  const wanted = [...new Set(required(query.addresses('address'), 'address of account is required'))];
  const includeBoc = query.bool('include_boc') ?? true;
  const rows = wanted.flatMap((address) => entities.accountState(address, includeBoc) ?? []);
  return answer(request, 'accounts', random.shuffle(rows).slice(0, 1000), true);
}

/** A bare array. */
function topAccounts(request: RouteRequest): string {
  return JSON.stringify(page(request, request.ledger.entities.at(request.view).balances(), 422));
}

function multisigWallets(request: RouteRequest): string {
  const { query, ledger, view } = request;
  const [addresses, owners] = [query.addresses('address'), query.addresses('wallet_address')];
  if (addresses.length + owners.length === 0)
    throw new ServedError(422, 'At least one of address or wallet_address should be specified');
  const rows = ledger.entities
    .at(view)
    .multisigs(query.bool('include_orders') ?? true)
    .filter(
      ({ address, signers, proposers }) =>
        addresses.includes(address) || [...signers, ...proposers].some((signer) => owners.includes(signer)),
    );
  return answer(request, 'multisigs', page(request, rows), false);
}

function multisigOrders(request: RouteRequest): string {
  const { query, ledger, view } = request;
  const [addresses, wallets] = [
    new Set(query.addresses('address')),
    new Set(query.addresses('multisig_address')),
  ];
  if (addresses.size + wallets.size === 0)
    throw new ServedError(422, 'At least one of address or multisig_address should be specified');
  const rows = ledger.entities
    .at(view)
    .multisigOrders(query.bool('parse_actions') ?? false)
    .filter((order) => addresses.has(order.address) || wallets.has(order.multisig_address));
  return answer(request, 'orders', page(request, rows), false);
}

function vesting(request: RouteRequest): string {
  const { query, ledger, view } = request;
  const [contracts, wallets] = [query.addresses('contract_address'), query.addresses('wallet_address')];
  if (contracts.length + wallets.length === 0)
    throw new ServedError(422, 'at least one of contract_address or wallet_address is required');
  if (contracts.length > 0 && wallets.length > 0)
    throw new ServedError(422, 'only one of contract_address or wallet_address should be specified');
  const rows = ledger.entities
    .at(view)
    .vestings()
    .filter(
      ({ address, owner_address, sender_address }) =>
        contracts.includes(address) || [owner_address, sender_address].some((one) => wallets.includes(one)),
    );
  return answer(request, 'vesting_contracts', page(request, rows, 422), false);
}

function dnsRecords(request: RouteRequest): string {
  const { query, ledger, view } = request;
  const [wallet, domain] = [query.address('wallet'), query.text('domain')];
  if ((wallet === undefined) === (domain === undefined))
    throw new ServedError(422, 'exactly one of wallet, domain should be specified');
  const rows = ledger.entities
    .at(view)
    .dnsRecords()
    .filter((record) => record.dns_wallet === wallet || record.domain === domain)
    .map((record) => (request.build === '1.2' ? record : withHashes(record)));
  return answer(request, 'records', page(request, rows), false);
}

function dnsAuctions(request: RouteRequest): string {
  const { query, ledger, view } = request;
  const bidder = query.address('bidder');
  if (bidder === undefined) throw new ServedError(422, 'bidder parameter is required');
  const state = query.text('state') ?? 'all';
  const rows = ledger.entities
    .at(view)
    .dnsAuctions()
    .filter(
      (auction) =>
        auction.max_bid_address === bidder && (state === 'all' || auction.finished === (state === 'won')),
    );
  return answer(request, 'auctions', page(request, rows), true).replace(/}$/, ',"next_cursor":null}');
}

/** Build 1.3 has these two in columns of hashes. */
function withHashes(record: DnsRecordJson): DnsRecordJson {
  const base64 = (hex: string | null) => (hex === null ? null : Buffer.from(hex, 'hex').toString('base64'));
  return {
    ...record,
    dns_site_adnl: base64(record.dns_site_adnl),
    dns_storage_bag_id: base64(record.dns_storage_bag_id),
  };
}

/** Transfers and burns of jettons, transfers of items. */
export const tokenRoutes: Routes = {
  '/api/v3/jetton/transfers': (request) =>
    tokens(request, 'jetton_transfers', request.ledger.jettonTransfers, JETTON),
  '/api/v3/jetton/burns': (request) => tokens(request, 'jetton_burns', request.ledger.jettonBurns, JETTON),
  '/api/v3/nft/transfers': (request) => tokens(request, 'nft_transfers', request.ledger.nftTransfers, NFT),
};

/** The names that an endpoint gives to the parties. */
interface Names {
  readonly item: string;
  readonly group: string;
}

const JETTON: Names = { item: 'jetton_wallet', group: 'jetton_master' };
const NFT: Names = { item: 'item_address', group: 'collection_address' };

/**
 * Ordered by lt, or by time wherever a second is given, and by nothing else on either build: rows that tie come in
 * another order with each request.
 */
function tokens(request: RouteRequest, member: string, source: TokenSource, names: Names): string {
  const { query, build, view, random } = request;
  const paging = parsePaging(query, build);
  const passes = tokenFilter(request, source, names);
  const utimes = utimeRange(query);
  const rows = utimes === undefined ? source.byLt(ltRange(query) ?? EVERYTHING) : source.byTime(utimes);
  const key = (row: number): number => (utimes === undefined ? source.lt(row) : source.utime(row));
  const ordered = walk(rows, paging.sort !== 'asc', (row) => source.visible(view, row) && passes(row));
  const page = cutPage(
    shuffleTies(ordered, (a, b) => key(a) === key(b), random),
    paging,
  );
  const addresses = (): string[] =>
    page.flatMap((row) => {
      const { from, to, item, group } = source.parties(row);
      return [from, to, item, group].filter((address) => address !== '');
    });
  const texts = page.map((row) => source.text(row));
  return `{"${member}":[${texts.join(',')}],${addressBookMember(request, addresses)},${metadataMember(request, addresses)}}`;
}

/** `in` means the receiver, any other direction the sender, none either of them. */
function tokenFilter({ query }: RouteRequest, source: TokenSource, names: Names): (row: number) => boolean {
  const [lts, utimes] = [ltRange(query), utimeRange(query)];
  const owners = new Set(query.addresses('owner_address', 'address'));
  const items = new Set(query.addresses(names.item));
  const group = query.address(names.group);
  const direction = query.text('direction');
  const owned = ({ from, to }: TokenParties): boolean =>
    owners.size === 0 ||
    (direction !== 'in' && owners.has(from)) ||
    ((direction === undefined || direction === 'in') && owners.has(to));
  const anyParty = owners.size > 0 || items.size > 0 || group !== undefined;
  const matches = (parties: TokenParties): boolean =>
    owned(parties) &&
    (items.size === 0 || items.has(parties.item)) &&
    (group === undefined || parties.group === group);
  return (row) =>
    within(utimes, source.utime(row)) &&
    within(lts, source.lt(row)) &&
    (!anyParty || matches(source.parties(row)));
}
