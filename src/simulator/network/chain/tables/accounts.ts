import { mix32, salt } from '../../../random.ts';
import { HashSpace } from './hash-space.ts';

/** What an account is for; it decides how it answers messages and what later endpoints say of it. */
export const ROLES = [
  'elector',
  'config',
  'giver',
  'jetton_master',
  'nft_collection',
  'contract',
  'wallet',
  'jetton_wallet',
  'nft_item',
  'nft_sale',
] as const;

export type Role = (typeof ROLES)[number];

/** The masterchain's two special contracts come first in the order of addresses: `-1:` sorts before `0:`. */
export const ELECTOR = 0;
export const CONFIG = 1;
const ELECTOR_ADDRESS = `-1:${'3'.repeat(64)}`;
const CONFIG_ADDRESS = `-1:${'5'.repeat(64)}`;
/** The source of the protocol's own messages: not an account. */
export const SYSTEM_ADDRESS = `-1:${'0'.repeat(64)}`;

/** Jettons that each wallet can hold: one jetton wallet each. */
export const SLOTS = 2;

/** Pools of exchanges that each group of wallets has: the first wallets of the group. */
export const POOLS = 4;

/** Wallets that put assets into each pool: the next ones of the group. */
export const PROVIDERS = 4;

/** Domains below .ton that there can be, and as many user names of Telegram: the last items. */
export const NAMES = 16;

/** Contracts that can offer each item, one after the other. */
export const SALES = 2;

/** The collections of domains and of user names, which are the last ones, have the addresses of the real ones. */
export const DOMAINS = '0:B774D95EB20543F186C06B371AB88AD704F7E256130CAF96189368A7D0CB6CCF';
const USERNAMES = '0:80D78A35F955A14B679FAA887FF4CD5BFC0F43B4A4EEA2A7E6927F3701B273C2';

/**
 * Every account that the network can ever have, existing or not. Accounts are numbered in the order of their
 * addresses, so comparing two numbers compares two addresses; an account's shard is read off the first bits.
 */
export class Accounts {
  readonly count: number;
  readonly wallets: number;
  readonly groups: number;
  readonly masters: number;
  /** Collections of plain items. */
  readonly collections: number;
  readonly items: number;
  readonly contracts: number;
  readonly giver: number;
  /** The first wallets: each of them is a pool of an exchange. */
  readonly exchanges: number;
  private readonly prefixes: Uint32Array;
  private readonly accountOfEntity: Uint32Array;
  private readonly entityOfAccount: Uint32Array;
  private readonly firsts: readonly number[];
  private readonly tails: HashSpace;
  private readonly givenAddresses: ReadonlyMap<number, string>;
  private readonly texts: (string | undefined)[];

  constructor(seed: number, wallets: number) {
    this.wallets = wallets;
    this.groups = Math.max(2, Math.min(100, Math.floor(wallets / 100)));
    this.masters = this.groups * SLOTS;
    this.collections = Math.max(2, Math.min(100, Math.floor(wallets / 200)));
    this.items = wallets + 2 * NAMES;
    this.contracts = Math.max(5, Math.floor(wallets / 40));
    this.exchanges = this.groups * POOLS;
    const sizes = [
      1,
      1,
      1,
      this.masters,
      this.collections + 2,
      this.contracts,
      wallets,
      wallets * SLOTS,
      this.items,
      this.items * SALES,
      // Jetton wallets again: those of LP tokens.
      this.exchanges * PROVIDERS,
    ];
    this.firsts = sizes.map((_, role) => sizes.slice(0, role).reduce((sum, size) => sum + size, 0));
    this.count = sizes.reduce((sum, size) => sum + size, 0);
    this.tails = new HashSpace(seed, 'address');
    this.texts = new Array<string | undefined>(this.count);
    const key = mix32(seed ^ salt('prefix'));
    const named = (this.firsts[ROLES.indexOf('nft_collection')] ?? 0) + this.collections;
    this.givenAddresses = new Map([DOMAINS, USERNAMES].map((address, at) => [named + at, address]));
    const prefixOf = (entity: number): number => {
      const given = this.givenAddresses.get(entity);
      if (given !== undefined) return Number.parseInt(given.slice(2, 10), 16);
      return entity <= CONFIG ? 0 : mix32(entity ^ key);
    };
    const order = Uint32Array.from({ length: this.count }, (_, entity) => entity);
    order.subarray(2).sort((a, b) => prefixOf(a) - prefixOf(b));
    this.entityOfAccount = order;
    this.accountOfEntity = new Uint32Array(this.count);
    order.forEach((entity, account) => (this.accountOfEntity[entity] = account));
    this.prefixes = order.map(prefixOf);
    this.giver = this.account('giver', 0);
  }

  /** The account that is number `index` among those of `role`. */
  account(role: Role, index: number): number {
    return this.accountOfEntity[(this.firsts[ROLES.indexOf(role)] ?? 0) + index] ?? 0;
  }

  role(account: number): Role {
    const entity = this.entityOfAccount[account] ?? 0;
    if (entity >= this.firstOfLp) return 'jetton_wallet';
    let role = ROLES.length - 1;
    while (role > 0 && entity < (this.firsts[role] ?? 0)) role--;
    return ROLES[role] ?? 'wallet';
  }

  /** The number of an account among those of its role; wallets of LP tokens come after all other jetton wallets. */
  indexInRole(account: number): number {
    const entity = this.entityOfAccount[account] ?? 0;
    if (entity >= this.firstOfLp) return this.wallets * SLOTS + entity - this.firstOfLp;
    return entity - (this.firsts[ROLES.indexOf(this.role(account))] ?? 0);
  }

  private get firstOfLp(): number {
    return this.firsts[ROLES.length] ?? 0;
  }

  /** The jetton wallet of a wallet. */
  jettonWallet(wallet: number, slot: number): number {
    return this.account('jetton_wallet', this.indexInRole(wallet) * SLOTS + slot);
  }

  /** The wallet of a provider of a pool for the LP tokens of the pool. */
  lpWalletOf(pool: number, provider: number): number {
    const place = Math.floor(this.indexInRole(provider) / this.groups) - POOLS;
    return this.accountOfEntity[this.firstOfLp + this.indexInRole(pool) * PROVIDERS + place] ?? 0;
  }

  /** A wallet that puts assets into a pool. */
  provider(pool: number, provider: number): number {
    return this.account('wallet', this.groupOf(pool) + this.groups * (POOLS + provider));
  }

  /** The wallet that owns a jetton wallet. */
  jettonWalletOwner(jettonWallet: number): number {
    const lp = this.indexInRole(jettonWallet) - this.wallets * SLOTS;
    if (lp >= 0) return this.provider(this.account('wallet', Math.floor(lp / PROVIDERS)), lp % PROVIDERS);
    return this.account('wallet', Math.floor(this.indexInRole(jettonWallet) / SLOTS));
  }

  /** Which of its owner's jettons a jetton wallet holds. */
  jettonSlot(jettonWallet: number): number {
    return this.indexInRole(jettonWallet) % SLOTS;
  }

  /** The master of a jetton wallet: of LP tokens it is the pool. */
  masterOf(jettonWallet: number): number {
    const lp = this.indexInRole(jettonWallet) - this.wallets * SLOTS;
    if (lp >= 0) return this.account('wallet', Math.floor(lp / PROVIDERS));
    return this.jettonMaster(this.jettonWalletOwner(jettonWallet), this.jettonSlot(jettonWallet));
  }

  /** Wallets of one group hold the same jettons. */
  groupOf(wallet: number): number {
    return this.indexInRole(wallet) % this.groups;
  }

  jettonMaster(wallet: number, slot: number): number {
    return this.account('jetton_master', this.groupOf(wallet) * SLOTS + slot);
  }

  /** A pool of an exchange that trades jettons of a wallet's group. */
  exchange(wallet: number, place: number): number {
    return this.account('wallet', this.groupOf(wallet) + this.groups * place);
  }

  isExchange(account: number): boolean {
    return this.role(account) === 'wallet' && this.indexInRole(account) < this.exchanges;
  }

  /** The collection of an item. */
  collection(item: number): number {
    const index = this.indexInRole(item);
    const name = Math.floor((index - this.wallets) / NAMES);
    return this.account('nft_collection', name < 0 ? index % this.collections : this.collections + name);
  }

  /** False for items that belong to no collection. */
  hasCollection(item: number): boolean {
    return this.kindOf(item) !== 'plain' || this.indexInRole(item) % 11 !== 7;
  }

  kindOf(item: number): 'plain' | 'domain' | 'username' {
    const index = this.indexInRole(item);
    if (index < this.wallets) return 'plain';
    return index < this.wallets + NAMES ? 'domain' : 'username';
  }

  /** The contract that offers an item: another one each `turn`. */
  sale(item: number, turn: number): number {
    return this.account('nft_sale', this.indexInRole(item) * SALES + turn);
  }

  itemOfSale(sale: number): number {
    return this.account('nft_item', Math.floor(this.indexInRole(sale) / SALES));
  }

  /** The contract that sets sales and auctions up and gets a fee of them, which is none of the pools. */
  get marketplace(): number {
    return this.account('contract', this.contracts - 1);
  }

  /** Who gets royalties for an item: the owner of its collection. */
  author(item: number): number {
    return this.account('wallet', this.wallets - 1 - (this.indexInRole(this.collection(item)) % 8));
  }

  /** The first 32 bits of an account's address, which decide its shard. */
  prefix(account: number): number {
    return this.prefixes[account] ?? 0;
  }

  isMasterchain(account: number): boolean {
    return account <= CONFIG;
  }

  /** The raw address, as v3 prints it. */
  address(account: number): string {
    const known = this.texts[account];
    if (known !== undefined) return known;
    const text = this.makeAddress(account);
    this.texts[account] = text;
    return text;
  }

  private makeAddress(account: number): string {
    if (account === ELECTOR) return ELECTOR_ADDRESS;
    if (account === CONFIG) return CONFIG_ADDRESS;
    const given = this.givenAddresses.get(this.entityOfAccount[account] ?? 0);
    if (given !== undefined) return given;
    const head = this.prefix(account).toString(16).padStart(8, '0').toUpperCase();
    return `0:${head}${this.tails.hex(this.entityOfAccount[account] ?? 0).slice(8)}`;
  }

  /** The account with a raw upper-case address. */
  find(address: string): number | undefined {
    if (address === ELECTOR_ADDRESS) return ELECTOR;
    if (address === CONFIG_ADDRESS) return CONFIG;
    const wanted = Number.parseInt(address.slice(2, 10), 16);
    let low = CONFIG + 1;
    let high = this.count;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.prefix(middle) < wanted) low = middle + 1;
      else high = middle;
    }
    return low < this.count && this.address(low) === address ? low : undefined;
  }
}
