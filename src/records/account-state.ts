import { accountStatus, hash, optionalHash } from './members/form.ts';
import * as z from 'zod';
import { inExtra } from '../dataset/declaration/place.ts';
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
  data_boc: inExtra(text),
  code_boc: inExtra(text),
});
