import { friendlyAddress } from './address-json.ts';
import { poolAt, isLpMaster } from '../network/chain/exchanges.ts';
import { itemIndex, nameOf } from '../network/chain/nft-market.ts';
import type { Role } from '../network/chain/tables/accounts.ts';
import type { World } from '../network/chain/world.ts';
import { mix32 } from '../random.ts';
import { isOfManyDecimals } from './payload.ts';

const INTERFACES: Readonly<Record<Role, readonly string[]>> = {
  elector: ['elector'],
  config: [],
  giver: ['wallet_highload_v3'],
  jetton_master: ['jetton_master'],
  nft_collection: ['nft_collection'],
  contract: [],
  wallet: ['wallet_v4r2'],
  jetton_wallet: ['jetton_wallet'],
  nft_item: ['nft_item'],
  nft_sale: [],
};

/** A jetton's symbol. */
export function jettonSymbol(index: number): string {
  return `SIM${index}`;
}

/** What the content of a jetton says of its decimals: of all kinds, sometimes no number, sometimes nothing. */
export function jettonDecimals(index: number): string | undefined {
  if (isOfManyDecimals(index)) return '18';
  return index % 8 === 5 ? undefined : ['9', '6', 'nine', '0'][(index >> 1) % 4];
}

/** How the LP tokens of a pool are described. */
export function lpContent(index: number) {
  return { name: `Pool ${index} LP`, symbol: `LP${index}`, description: 'Share of a pool' };
}

/** True if no program can read the content of a jetton. */
export const isUnreadable = (index: number): boolean => index % 7 === 6;

/** What the address book says of each address: enrichment, never a key. */
export function addressBook(world: World, addresses: readonly string[]): Record<string, object> {
  const book: Record<string, object> = {};
  for (const address of new Set(addresses)) {
    const account = world.accounts.find(address);
    const role = account === undefined ? undefined : world.accounts.role(account);
    const isWallet = account !== undefined && role === 'wallet' && !world.accounts.isExchange(account);
    const named = isWallet && mix32(account) % 20 === 0;
    book[address] = {
      user_friendly: friendlyAddress(address, !isWallet, world.options.globalId !== -239),
      domain: named ? `w${account}.ton` : null,
      interfaces: account === undefined || role === undefined ? null : interfacesOf(world, account, role),
    };
  }
  return book;
}

function interfacesOf(world: World, account: number, role: Role): readonly string[] {
  if (world.accounts.isExchange(account)) {
    const { dex, hasLp } = poolAt(world.accounts, account);
    return [`${dex}_pool`, ...(hasLp ? ['jetton_master'] : [])];
  }
  return world.isPool(account) ? ['tv_pool'] : INTERFACES[role];
}

/** Token metadata of those addresses that are tokens. */
export function metadata(world: World, addresses: readonly string[]): Record<string, object> {
  const found: Record<string, object> = {};
  for (const address of new Set(addresses)) {
    const account = world.accounts.find(address);
    const info = account === undefined ? undefined : tokenInfo(world, account);
    if (info !== undefined) found[address] = { is_indexed: true, token_info: [info] };
  }
  return found;
}

/** What the indexer has found in the content, or in the file to which it points. */
function decimalsFound(index: number): object {
  const decimals = isUnreadable(index) ? undefined : jettonDecimals(index);
  return decimals === undefined ? {} : { extra: { decimals } };
}

function tokenInfo(world: World, account: number): object | undefined {
  const { accounts } = world;
  const index = accounts.indexInRole(account);
  switch (accounts.role(account)) {
    case 'jetton_master':
      return {
        valid: true,
        type: 'jetton_masters',
        name: `Simulated coin ${index}`,
        symbol: jettonSymbol(index),
        description: 'A coin of the simulated network',
        image: `https://example.org/coin/${index}.png`,
        ...decimalsFound(index),
      };
    case 'wallet':
      return isLpMaster(accounts, account)
        ? { valid: true, type: 'jetton_masters', ...lpContent(index), extra: { decimals: '9' } }
        : undefined;
    case 'nft_collection':
      return {
        valid: true,
        type: 'nft_collections',
        name: `Collection ${index}`,
        description: 'Simulated items',
        image: `https://example.org/collection/${index}.png`,
      };
    case 'nft_item':
      return {
        valid: true,
        type: 'nft_items',
        name: accounts.kindOf(account) === 'plain' ? `Item ${index}` : nameOf(accounts, account),
        nft_index: itemIndex(world, account),
        image: `https://example.org/item/${index}.png`,
      };
    case 'jetton_wallet': {
      const owner = accounts.jettonWalletOwner(account);
      const jetton = accounts.address(accounts.masterOf(account));
      return {
        valid: true,
        type: 'jetton_wallets',
        extra: { owner: accounts.address(owner), jetton, balance: '0' },
      };
    }
    default:
      return undefined;
  }
}
