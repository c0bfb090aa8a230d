import { NONE } from '../chain/tables/block-table.ts';
import type { Role } from '../chain/tables/accounts.ts';
import { otherParty, refusedBy, sentAmount } from '../chain/jetton-parties.ts';
import { nftReceiver } from '../chain/generate/reactions.ts';
import type { World } from '../chain/world.ts';

/** The state of a generated network's accounts at one moment: replayed from the visible transactions. */
export class WorldState {
  readonly world: World;
  /** Of each account that has any, the row of its last visible transaction. */
  readonly last = new Map<number, number>();
  /** Accounts in the order in which the index met them: an id that only grows. */
  readonly order: number[] = [];
  private readonly tokens = new Map<number, number>();
  private readonly owners = new Map<number, number>();

  constructor(world: World, visible: (row: number) => boolean) {
    this.world = world;
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
    const role = accounts.role(account);
    if (role === 'jetton_wallet') this.moveTokens(account, row);
    if (role === 'nft_item') this.moveItem(account, row);
  }

  private moveTokens(account: number, row: number): void {
    const { transactions, accounts } = this.world;
    const trace = transactions.trace.get(row);
    const owner = accounts.jettonWalletOwner(account);
    const op = this.opOf(row) ?? '';
    const sender = op === 'jetton_internal_transfer' ? otherParty(this.world, trace, owner) : owner;
    const amount = sentAmount(this.world, trace, sender);
    const isVoid = op === 'bounced' && refusedBy(this.world, transactions.inMessage.get(row)) === undefined;
    const sign = isVoid ? 0 : (SIGNS[op] ?? 0);
    this.tokens.set(account, this.tokensOf(account) + sign * amount);
  }

  private moveItem(account: number, row: number): void {
    const { transactions, traces } = this.world;
    const trace = transactions.trace.get(row);
    const op = this.opOf(row);
    if (op === 'nft_mint') this.owners.set(account, traces.actor.get(trace));
    if (op === 'nft_transfer') this.owners.set(account, nftReceiver(this.world, trace));
  }

  private opOf(row: number): string | undefined {
    const message = this.world.transactions.inMessage.get(row);
    return message === NONE ? undefined : this.world.messages.opOf(message);
  }

  /** Units of its jetton in a jetton wallet. */
  tokensOf(jettonWallet: number): number {
    return this.tokens.get(jettonWallet) ?? 0;
  }

  /** The wallet that owns an item; undefined before the item is minted. */
  ownerOf(item: number): number | undefined {
    return this.owners.get(item);
  }

  /** Deployed accounts of a role, in the order of their ids. */
  ofRole(role: Role): number[] {
    const { accounts, transactions } = this.world;
    return this.order.filter(
      (account) =>
        accounts.role(account) === role &&
        transactions.statusAfterOf(this.last.get(account) ?? 0) === 'active',
    );
  }

  /** Units of a jetton in all its wallets. */
  supplyOf(master: number): number {
    const { accounts } = this.world;
    let supply = 0;
    for (const [wallet, amount] of this.tokens) {
      const owner = accounts.jettonWalletOwner(wallet);
      if (accounts.jettonMaster(owner, accounts.jettonSlot(wallet)) === master) supply += amount;
    }
    return supply;
  }
}

const SIGNS: Readonly<Record<string, number>> = {
  jetton_internal_transfer: 1,
  bounced: 1,
  jetton_transfer: -1,
  jetton_burn: -1,
};
