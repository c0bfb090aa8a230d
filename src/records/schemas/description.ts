import { z } from 'zod';
import { count, digits, extraCurrencies, flag, int, int64, text } from './scalar.ts';

const storagePhase = z.strictObject({
  storage_fees_collected: digits,
  storage_fees_due: digits,
  status_change: text,
});

const creditPhase = z.strictObject({
  due_fees_collected: digits,
  credit: digits,
  credit_extra_currencies: extraCurrencies,
});

const computePhase = z.strictObject({
  skipped: flag,
  reason: text,
  success: flag,
  msg_state_used: flag,
  account_activated: flag,
  gas_fees: digits,
  gas_used: int64,
  gas_limit: int64,
  gas_credit: int64,
  mode: int,
  exit_code: int,
  exit_arg: int,
  vm_steps: count,
  vm_init_state_hash: text,
  vm_final_state_hash: text,
});

const messageSize = z.strictObject({ cells: int64, bits: int64 });

const actionPhase = z.strictObject({
  success: flag,
  valid: flag,
  no_funds: flag,
  status_change: text,
  total_fwd_fees: digits,
  total_action_fees: digits,
  result_code: int,
  result_arg: int,
  tot_actions: int,
  spec_actions: int,
  skipped_actions: int,
  msgs_created: int,
  action_list_hash: text,
  tot_msg_size: messageSize.nullish(),
});

const bouncePhase = z.strictObject({
  type: text,
  msg_size: messageSize.nullish(),
  req_fwd_fees: digits,
  msg_fees: digits,
  fwd_fees: digits,
});

const splitInfo = z.strictObject({
  cur_shard_pfx_len: int,
  acc_split_depth: int,
  this_addr: text,
  sibling_addr: text,
});

/** What a transaction did, phase by phase; a phase that did not happen is omitted. */
export const description = z.strictObject({
  type: z.string(),
  aborted: flag,
  destroyed: flag,
  credit_first: flag,
  is_tock: flag,
  installed: flag,
  storage_ph: storagePhase.nullish(),
  credit_ph: creditPhase.nullish(),
  compute_ph: computePhase.nullish(),
  action: actionPhase.nullish(),
  bounce: bouncePhase.nullish(),
  split_info: splitInfo.nullish(),
});

export type Description = z.output<typeof description>;
export type StoragePhase = z.output<typeof storagePhase>;
export type CreditPhase = z.output<typeof creditPhase>;
export type ComputePhase = z.output<typeof computePhase>;
export type ActionPhase = z.output<typeof actionPhase>;
export type BouncePhase = z.output<typeof bouncePhase>;
export type SplitInfo = z.output<typeof splitInfo>;
