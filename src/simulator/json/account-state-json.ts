import { NONE } from '../network/chain/tables/block-table.ts';
import { offerKind } from '../network/chain/nft-market.ts';
import type { World } from '../network/chain/world.ts';

/** The state of an account as a transaction's before and after. */
export interface AccountStateJson {
  readonly hash: string;
  readonly balance: string | null;
  readonly extra_currencies: Readonly<Record<string, string>> | null;
  readonly account_status: string | null;
  readonly frozen_hash: string | null;
  readonly data_hash: string | null;
  readonly code_hash: string | null;
}

/** The state of every account that is not there: its row is missing in the index, so the rest is null. */
export const NONEXIST_STATE: AccountStateJson = {
  hash: 'kK7Illr6uxbrw8ubQI665xthjXh4i8gNCYQ1k8rJjaQ=',
  balance: null,
  extra_currencies: null,
  account_status: null,
  frozen_hash: null,
  data_hash: null,
  code_hash: null,
};

/** The id of the network's one extra currency. */
const EXTRA_CURRENCY = '100';

/** An amount of the extra currency as the API prints it. */
export function extraCurrencies(amount: number): Readonly<Record<string, string>> {
  return amount === 0 ? {} : { [EXTRA_CURRENCY]: String(amount) };
}

/** The state after a transaction; NONE gives the state before the account's first transaction. */
export function accountStateJson(world: World, transaction: number): AccountStateJson {
  const { transactions } = world;
  const status = transaction === NONE ? 'nonexist' : transactions.statusAfterOf(transaction);
  if (status === 'nonexist') return NONEXIST_STATE;
  const code = codeOf(world, transactions.account.get(transaction));
  return {
    hash: world.hashes('state').text(transaction),
    balance: String(transactions.balance.get(transaction)),
    extra_currencies: extraCurrencies(transactions.extra.get(transaction)),
    account_status: status,
    frozen_hash: status === 'frozen' ? world.hashes('frozen').text(transaction) : null,
    data_hash: status === 'active' ? world.hashes('data').text(transaction) : null,
    code_hash: status === 'active' ? world.hashes(`code ${code}`).text(0) : null,
  };
}

/** Accounts of a role share their code, but that names, sales and auctions have codes of their own. */
function codeOf({ accounts }: World, account: number): string {
  return offerKind(accounts, account) ?? accounts.role(account);
}
