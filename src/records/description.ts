import { optionalHash } from './members/form.ts';
import * as z from 'zod';
import { column, phase } from '../dataset/declaration/place.ts';
import { count, digits, extraCurrencies, flag, int, int64, text } from './members/scalar.ts';

const storagePhase = z.strictObject({
  storage_fees_collected: digits,
  storage_fees_due: digits,
  status_change: column('storage_status_change', text),
});

const creditPhase = z.strictObject({
  due_fees_collected: column('credit_due_fees_collected', digits),
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
  vm_init_state_hash: optionalHash,
  vm_final_state_hash: optionalHash,
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
  action_list_hash: column('action_list_hash', optionalHash),
  tot_msg_size: phase('action_tot_msg_size_', messageSize.nullish()),
});

const bouncePhase = z.strictObject({
  type: text,
  msg_size: phase('bounce_msg_size_', messageSize.nullish()),
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
  type: column('description_type', z.string()),
  aborted: flag,
  destroyed: flag,
  credit_first: flag,
  is_tock: flag,
  installed: flag,
  storage_ph: phase('', storagePhase.nullish()),
  credit_ph: phase('', creditPhase.nullish()),
  compute_ph: phase('compute_', computePhase.nullish()),
  action: phase('action_', actionPhase.nullish()),
  bounce: phase('bounce_', bouncePhase.nullish()),
  split_info: phase('split_', splitInfo.nullish()),
});
