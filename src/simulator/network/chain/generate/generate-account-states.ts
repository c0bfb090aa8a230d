import { Liquidity } from '../exchanges.ts';
import { NftMarket } from '../nft-market.ts';
import type { World } from '../world.ts';
import { type Draft, type StatusCode, STATUSES } from '../tables/transaction-table.ts';

/** What the accounts are at the point that the generation has reached. */
export class AccountStates {
  readonly balance: Float64Array;
  readonly extra: Float64Array;
  /** Jettons of a jetton wallet. */
  readonly tokens: Float64Array;
  readonly market: NftMarket;
  /** The lt after the account's last transaction and its messages. */
  readonly endLt: Float64Array;
  /** The latest transaction: a draft while its round is open. */
  readonly latest: (Draft | undefined)[];
  private readonly statuses: Uint8Array;
  private readonly pools = new Map<number, Liquidity>();

  constructor(world: World) {
    const { accounts } = world;
    this.balance = new Float64Array(accounts.count);
    this.extra = new Float64Array(accounts.count);
    this.tokens = new Float64Array(accounts.count);
    this.market = new NftMarket(world);
    this.endLt = new Float64Array(accounts.count);
    this.latest = new Array<Draft | undefined>(accounts.count);
    this.statuses = new Uint8Array(accounts.count);
  }

  balanceOf(account: number): number {
    return this.balance[account] ?? 0;
  }

  extraOf(account: number): number {
    return this.extra[account] ?? 0;
  }

  tokensOf(account: number): number {
    return this.tokens[account] ?? 0;
  }

  statusOf(account: number): StatusCode {
    return STATUSES[this.statuses[account] ?? 0] ?? 'nonexist';
  }

  isActive(account: number): boolean {
    return this.statuses[account] === 2;
  }

  /** What a pool of an exchange holds. */
  liquidityOf(pool: number): Liquidity {
    const known = this.pools.get(pool) ?? new Liquidity();
    this.pools.set(pool, known);
    return known;
  }

  addTokens(jettonWallet: number, amount: number): void {
    this.tokens[jettonWallet] = this.tokensOf(jettonWallet) + amount;
  }

  /** Takes over what a finished transaction left. */
  apply(draft: Draft): void {
    this.balance[draft.account] = draft.balance;
    this.extra[draft.account] = draft.extra;
    this.statuses[draft.account] = STATUSES.indexOf(draft.statusAfter);
    this.endLt[draft.account] = draft.lt + draft.outCount;
    this.latest[draft.account] = draft;
  }
}
