import { z } from 'zod';
import { digits, extraCurrencies, text } from './scalar.ts';

/**
 * An account's state before or after a transaction. Only the hash is certain: servers leave the rest null where they
 * do not hold the state. `code_boc` and `data_boc` are documented, but no server is known to send them here.
 */
export const accountStateSnapshot = z.strictObject({
  hash: z.string(),
  balance: digits,
  extra_currencies: extraCurrencies,
  account_status: text,
  frozen_hash: text,
  data_hash: text,
  code_hash: text,
  data_boc: text,
  code_boc: text,
});

export type AccountStateSnapshot = z.output<typeof accountStateSnapshot>;
