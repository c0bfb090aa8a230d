import { z } from 'zod';
import { accountStateSnapshot } from './account-state.ts';
import { blockRef } from './block-id.ts';
import { description } from './description.ts';
import { message } from './message.ts';
import {
  extraCurrencies,
  finality,
  flag,
  int,
  requiredDigits,
  requiredInt64,
  requiredSeconds,
  text,
} from './scalar.ts';

/** A transaction with its messages, as in `transactions` of GET /api/v3/transactions and of a trace. */
export const transaction = z.strictObject({
  account: z.string(),
  hash: z.string(),
  lt: requiredInt64,
  now: requiredSeconds,
  mc_block_seqno: int,
  trace_id: text,
  trace_external_hash: text,
  prev_trans_hash: text,
  prev_trans_lt: requiredInt64,
  orig_status: z.string(),
  end_status: z.string(),
  total_fees: requiredDigits,
  total_fees_extra_currencies: extraCurrencies,
  description,
  block_ref: blockRef,
  in_msg: message.nullish(),
  out_msgs: z.array(message).nullish(),
  account_state_before: accountStateSnapshot.nullish(),
  account_state_after: accountStateSnapshot.nullish(),
  emulated: flag,
  finality,
});

export type Transaction = z.output<typeof transaction>;
