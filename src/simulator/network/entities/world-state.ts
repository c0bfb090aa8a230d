import { NONE } from '../chain/tables/block-table.ts';
import type { Role } from '../chain/tables/accounts.ts';
import { isLpMaster } from '../chain/exchanges.ts';
import { NftMarket } from '../chain/nft-market.ts';
import type { World } from '../chain/world.ts';

/** The state of a generated network's accounts at one moment: replayed from the visible transactions. */
export class WorldState {
  readonly world: World;
  /** Of each account that has any, the row of its last visible transaction. */
  readonly last = new Map<number, number>();
  /** Accounts in the order in which the index met them: an id that only grows. */
  readonly order: number[] = [];
  readonly market: NftMarket;
  private readonly tokens = new Map<number, number>();
  private readonly supplies = new Map<number, number>();

  constructor(world: World, visible: (row: number) => boolean) {
    this.world = world;
    this.market = new NftMarket(world);
    for (let row = 0; row < world.transactions.count; row++) {
      if (visible(row)) this.apply(row);
    }
  }

  private apply(row: number): void {
    const { transactions, accounts } = this.world;
    const account = transactions.account.get(row);
    if (!this.last.has(account)) this.order.push(account);
    this.last.set(account, row);
    if (transactions.kindOf(row) !== 'ok') return;
    const message = transactions.inMessage.get(row);
    if (message !== NONE) this.market.take({ account, message, utime: this.world.utimeOf(row) });
    const role = accounts.role(account);
    if (role === 'jetton_wallet') this.moveTokens(account, row);
    if (this.isMaster(account)) this.countSupply(account, row);
  }

  private moveTokens(account: number, row: number): void {
    const amount = this.world.messages.amount.get(this.world.transactions.inMessage.get(row));
    const change = (SIGNS[this.opOf(row) ?? ''] ?? 0) * amount;
    this.tokens.set(account, this.tokensOf(account) + change);
  }

  /** A master adds what it mints, and takes off what comes back to it and what was burned. */
  private countSupply(master: number, row: number): void {
    const { messages, transactions } = this.world;
    const op = this.opOf(row);
    const returns = op === 'jetton_burn_notification' || op === 'bounced';
    let change = returns ? -messages.amount.get(transactions.inMessage.get(row)) : 0;
    const first = transactions.firstOut.get(row);
    for (let message = first; message < first + transactions.outCount.get(row); message++)
      if (messages.opOf(message) === 'jetton_internal_transfer') change += messages.amount.get(message);
    if (change !== 0) this.supplies.set(master, this.supplyOf(master) + change);
  }

  private opOf(row: number): string | undefined {
    const message = this.world.transactions.inMessage.get(row);
    return message === NONE ? undefined : this.world.messages.opOf(message);
  }

  /** Units of its jetton in a jetton wallet. */
  tokensOf(jettonWallet: number): number {
    return this.tokens.get(jettonWallet) ?? 0;
  }

  /** Deployed accounts of a role, in the order of their ids. */
  ofRole(role: Role): number[] {
    return this.deployed((account) => this.world.accounts.role(account) === role);
  }

  /** Deployed masters of jettons, pools with LP tokens among them. */
  masters(): number[] {
    return this.deployed((account) => this.isMaster(account));
  }

  private isMaster(account: number): boolean {
    const { accounts } = this.world;
    return accounts.role(account) === 'jetton_master' || isLpMaster(accounts, account);
  }

  private deployed(passes: (account: number) => boolean): number[] {
    const { transactions } = this.world;
    return this.order.filter(
      (account) => passes(account) && transactions.statusAfterOf(this.last.get(account) ?? 0) === 'active',
    );
  }

  /** Units of a jetton that were minted and not burned. */
  supplyOf(master: number): number {
    return this.supplies.get(master) ?? 0;
  }
}

const SIGNS: Readonly<Record<string, number>> = {
  jetton_internal_transfer: 1,
  bounced: 1,
  jetton_transfer: -1,
  jetton_burn: -1,
};
