import { mix32 } from '../../random.ts';
import { POOLS, SLOTS, type Accounts } from './tables/accounts.ts';
import { NONE } from './tables/block-table.ts';
import type { World } from './world.ts';

const DEXES = ['dedust', 'stonfi', 'stonfi_v2', 'tonco'] as const;

export type Dex = (typeof DEXES)[number];

/** One of the jettons of a group by its slot, or {@link TON}. */
export type Asset = number;

export const TON: Asset = -1;

/** A pool of an exchange: it trades one pair of assets, and holds both itself. */
export interface Pool {
  readonly account: number;
  readonly dex: Dex;
  readonly assets: readonly [Asset, Asset];
  /** False if an NFT item stands for what is put into it, and not LP tokens. */
  readonly hasLp: boolean;
}

/**
 * The pairs of a group's pools. The first two pools and the last two belong to one exchange each and share an asset, so
 * a swap can go through both.
 */
const PAIRS: readonly (readonly [Asset, Asset])[] = [
  [0, TON],
  [0, 1],
  [1, TON],
  [0, TON],
];

export function poolAt(accounts: Accounts, account: number): Pool {
  const [group, place] = [accounts.groupOf(account), placeOf(accounts, account)];
  const at = group * 2 + (group >> 1) + (place >> 1);
  const dex = DEXES[at % DEXES.length] ?? 'dedust';
  return { account, dex, assets: PAIRS[place] ?? [0, TON], hasLp: dex !== 'tonco' };
}

function placeOf(accounts: Accounts, account: number): number {
  return Math.floor(accounts.indexInRole(account) / accounts.groups) % POOLS;
}

/** The pool with which a pool shares swaps, and the asset that goes from one to the other. */
export function neighbour(accounts: Accounts, account: number): { pool: Pool; shared: Asset } {
  const place = placeOf(accounts, account);
  const pool = poolAt(accounts, accounts.exchange(account, place ^ 1));
  return { pool, shared: place < 2 ? 0 : TON };
}

/** True if the pool is the master of LP tokens. */
export function isLpMaster(accounts: Accounts, account: number): boolean {
  return accounts.isExchange(account) && poolAt(accounts, account).hasLp;
}

/** The jetton wallet of a pool for one of its assets. */
export function walletOf(accounts: Accounts, { account }: Pool, asset: Asset): number {
  return accounts.jettonWallet(account, asset);
}

/** Nanotons for which one counted unit of an asset is first traded. */
export function firstPrice(accounts: Accounts, { account }: Pool, asset: Asset): number {
  return asset === TON ? 1 : (200 + (mix32(accounts.groupOf(account) * SLOTS + asset) % 700)) / 1000;
}

/** Nanotons of a message that stay with the pool that receives it. */
export function coinsKept({ messages }: World, message: number): number {
  const op = messages.opOf(message);
  const brings = (op === 'dex_swap' || op === 'dex_deposit') && messages.party.get(message) === NONE;
  return brings ? messages.amount.get(message) : 0;
}

/** What a pool holds as it counts itself. */
export class Liquidity {
  readonly reserves: [number, number] = [0, 0];
  /** LP tokens, or what positions stand for. */
  supply = 0;
  /** The first parts of deposits, by trace: the number of the asset, and its amount. */
  private readonly waiting = new Map<number, readonly [0 | 1, number]>();

  /** Takes an amount of an asset, and gives so much of the other that the product stays: 0.3 % are the pool's own. */
  swap(given: 0 | 1, amount: number): number {
    const got = given === 0 ? 1 : 0;
    const taken = BigInt(amount) * 997n;
    const output = (taken * BigInt(this.reserves[got])) / (BigInt(this.reserves[given]) * 1000n + taken);
    this.reserves[given] += amount;
    this.reserves[got] -= Number(output);
    return Number(output);
  }

  /** Takes one part of a deposit; with the second one, it gives the LP tokens for both. */
  deposit(trace: number, asset: 0 | 1, amount: number): number | undefined {
    const first = this.waiting.get(trace);
    if (first === undefined) {
      this.waiting.set(trace, [asset, amount]);
      return undefined;
    }
    this.waiting.delete(trace);
    const [one, two] = first[0] === 0 ? [first[1], amount] : [amount, first[1]];
    const minted = this.supply === 0 ? Math.floor(Math.sqrt(one) * Math.sqrt(two)) : this.worth(one, two);
    this.reserves[0] += one;
    this.reserves[1] += two;
    this.supply += minted;
    return minted;
  }

  /** Gives the share of both assets that LP tokens stand for. */
  withdraw(tokens: number): [number, number] {
    const share = (reserve: number): number =>
      Number((BigInt(reserve) * BigInt(tokens)) / BigInt(this.supply));
    const shares: [number, number] = [share(this.reserves[0]), share(this.reserves[1])];
    this.reserves[0] -= shares[0];
    this.reserves[1] -= shares[1];
    this.supply -= tokens;
    return shares;
  }

  private worth(one: number, two: number): number {
    const tokens = (amount: number, reserve: number): number =>
      Number((BigInt(amount) * BigInt(this.supply)) / BigInt(reserve));
    return Math.min(tokens(one, this.reserves[0]), tokens(two, this.reserves[1]));
  }
}

/** True if the jettons that a transaction sent, of a transfer or a mint, were taken where they arrived. */
export function wasTaken(world: World, row: number): boolean {
  const { transactions, messages } = world;
  const first = transactions.firstOut.get(row);
  for (let message = first; message < first + transactions.outCount.get(row); message++) {
    const receiver = messages.inTransaction.get(message);
    if (messages.opOf(message) === 'jetton_internal_transfer' && receiver !== NONE)
      return transactions.kindOf(receiver) === 'ok';
  }
  return true;
}
