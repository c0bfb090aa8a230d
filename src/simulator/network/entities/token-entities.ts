import { accountStateJson } from '../../json/account-state-json.ts';
import { isUnreadable, jettonDecimals, jettonSymbol, lpContent } from '../../json/address-book-json.ts';
import { jettonUnits } from '../../json/payload.ts';
import { hasCollection } from '../../json/token-json.ts';
import { mix32 } from '../../random.ts';
import { offerDetails, offerOf, OFFERED, partiesOf, saleAddress } from './offer.ts';
import type { WorldState } from './world-state.ts';

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

export interface NftCollectionJson extends ContractJson {
  readonly owner_address: string | null;
  readonly next_item_index: string;
  readonly collection_content: object | null;
}

export interface NftItemJson extends ContractJson {
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

export interface NftSaleJson {
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

export function jettonMaster(state: WorldState, account: number): JettonMasterJson {
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

export function jettonWallet(state: WorldState, account: number): JettonWalletJson {
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

export function nftCollection(state: WorldState, account: number): NftCollectionJson {
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

export function nftItem(state: WorldState, account: number): NftItemJson {
  const { accounts } = state.world;
  const index = accounts.indexInRole(account);
  const offer = offerOf(index);
  const owner = state.ownerOf(account);
  const realOwner = owner === undefined ? null : accounts.address(owner);
  const sale = saleAddress(state.world, account);
  const collection = accounts.collection(account);
  const isKnown = hasCollection(state.world, account);
  const isOnSale = offer !== undefined && offer !== 'telemint';
  return {
    ...contract(state, account),
    init: owner !== undefined,
    index: String(index),
    collection_address: isKnown ? accounts.address(collection) : null,
    owner_address: isOnSale ? sale : realOwner,
    content: index % 6 === 5 ? null : { uri: `https://example.org/item/${index}.json` },
    collection: isKnown ? nftCollection(state, collection) : null,
    on_sale: isOnSale,
    ...(offer === 'getgems_sale' ? { sale_contract_address: sale } : {}),
    ...(offer === 'getgems_auction' ? { auction_contract_address: sale } : {}),
    ...(isOnSale && realOwner !== null ? { real_owner: realOwner } : {}),
  };
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

/** The sale or auction that an item is in; undefined if it is in none. */
export function nftSale(state: WorldState, item: number): NftSaleJson | undefined {
  const { accounts } = state.world;
  const index = accounts.indexInRole(item);
  const type = offerOf(index);
  if (type === undefined || !state.last.has(item)) return undefined;
  const nft = nftItem(state, item);
  const { market, bidder } = partiesOf(state.world, item);
  const common = {
    type,
    address: saleAddress(state.world, item),
    nft_address: nft.address,
    nft_item: bareItem(nft, type === 'telemint' ? `item${index}` : undefined),
    last_transaction_lt: nft.last_transaction_lt,
    code_hash: state.world.hashes(`code ${type}`).text(0),
    data_hash: state.world.hashes('data').text(item),
  };
  const details = offerDetails(state.world, item);
  if (type === 'telemint') return { ...common, details };
  return {
    ...common,
    nft_owner_address: nft.real_owner ?? bidder,
    marketplace_address: market,
    created_at: OFFERED + index,
    details,
  };
}
