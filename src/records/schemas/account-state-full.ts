import { z } from 'zod';
import { digits, extraCurrencies, flag, int64, text } from './scalar.ts';

/** One element of `accounts` of GET /api/v3/accountStates. */
export const accountStateFull = z.strictObject({
  address: z.string(),
  account_state_hash: text,
  balance: digits,
  extra_currencies: extraCurrencies,
  status: text,
  frozen_hash: text,
  last_transaction_hash: text,
  last_transaction_lt: int64,
  data_hash: text,
  code_hash: text,
  data_boc: text,
  code_boc: text,
  contract_methods: z.array(z.int()).nullish(),
  interfaces: z.array(z.string()).nullish(),
  suspended: flag,
});

export type AccountStateFull = z.output<typeof accountStateFull>;
