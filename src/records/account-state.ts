import { accountStatus, hash, optionalHash } from './members/form.ts';
import { z } from 'zod';
import type { Extra } from '../dataset/record.ts';
import type { transactions } from '../db/schema/ton/transactions.ts';
import { digits, extraCurrencies, text } from './members/scalar.ts';

/**
 * An account's state before or after a transaction. Only the hash is certain: servers leave the rest null where they
 * do not hold the state. `code_boc` and `data_boc` are documented, but no server is known to send them here.
 */
export const accountStateSnapshot = z.strictObject({
  hash,
  balance: digits,
  extra_currencies: extraCurrencies,
  account_status: accountStatus.nullish(),
  frozen_hash: optionalHash,
  data_hash: optionalHash,
  code_hash: optionalHash,
  data_boc: text,
  code_boc: text,
});

type Snapshot = z.output<typeof accountStateSnapshot> | null | undefined;

export function beforeColumns(state: Snapshot) {
  return {
    before_hash: state?.hash,
    before_balance: state?.balance,
    before_extra_currencies: state?.extra_currencies,
    before_account_status: state?.account_status,
    before_frozen_hash: state?.frozen_hash,
    before_data_hash: state?.data_hash,
    before_code_hash: state?.code_hash,
  } satisfies Partial<typeof transactions.$inferInsert>;
}

export function afterColumns(state: Snapshot) {
  return {
    after_hash: state?.hash,
    after_balance: state?.balance,
    after_extra_currencies: state?.extra_currencies,
    after_account_status: state?.account_status,
    after_frozen_hash: state?.frozen_hash,
    after_data_hash: state?.data_hash,
    after_code_hash: state?.code_hash,
  } satisfies Partial<typeof transactions.$inferInsert>;
}

/** Code and data of a state are documented here but never sent: no column, and yet not lost if they come. */
export function bocs(path: string, state: Snapshot): Extra {
  return {
    ...(state?.code_boc != null && { [`${path}.code_boc`]: state.code_boc }),
    ...(state?.data_boc != null && { [`${path}.data_boc`]: state.data_boc }),
  };
}
