import { optionalHash } from './members/form.ts';
import { z } from 'zod';
import { isEmpty, type Extra } from '../dataset/record.ts';
import type { transactions } from '../db/schema/ton/transactions.ts';
import { count, digits, extraCurrencies, flag, int, int64, text } from './members/scalar.ts';

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
  action_list_hash: optionalHash,
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

type Columns = Partial<typeof transactions.$inferInsert>;
type Sent<Phase> = Phase | null | undefined;

/** The columns of `transactions` that hold a transaction's description, all phases side by side. */
export function descriptionColumns(description: Description) {
  return {
    description_type: description.type,
    aborted: description.aborted,
    destroyed: description.destroyed,
    credit_first: description.credit_first,
    is_tock: description.is_tock,
    installed: description.installed,
    ...storageColumns(description.storage_ph),
    ...creditColumns(description.credit_ph),
    ...computeColumns(description.compute_ph),
    ...actionColumns(description.action),
    ...bounceColumns(description.bounce),
    ...splitColumns(description.split_info),
  } satisfies Columns;
}

/** Phases that were sent empty, by dotted path: the one thing about them that no column tells. */
export function emptyPhases(description: Description): Extra {
  const extra: Record<string, unknown> = {};
  const note = (path: string, phase: object | null | undefined): void => {
    if (isEmpty(phase)) extra[`description.${path}`] = {};
  };
  note('storage_ph', description.storage_ph);
  note('credit_ph', description.credit_ph);
  note('compute_ph', description.compute_ph);
  note('action', description.action);
  note('action.tot_msg_size', description.action?.tot_msg_size);
  note('bounce', description.bounce);
  note('bounce.msg_size', description.bounce?.msg_size);
  note('split_info', description.split_info);
  return extra;
}

function storageColumns(phase: Sent<StoragePhase>) {
  const { storage_fees_collected, storage_fees_due, status_change }: StoragePhase = phase ?? {};
  return { storage_fees_collected, storage_fees_due, storage_status_change: status_change } satisfies Columns;
}

function creditColumns(phase: Sent<CreditPhase>) {
  const { due_fees_collected, credit, credit_extra_currencies }: CreditPhase = phase ?? {};
  return {
    credit_due_fees_collected: due_fees_collected,
    credit,
    credit_extra_currencies,
  } satisfies Columns;
}

function computeColumns(sent: Sent<ComputePhase>) {
  const phase: ComputePhase = sent ?? {};
  return {
    compute_skipped: phase.skipped,
    compute_reason: phase.reason,
    compute_success: phase.success,
    compute_msg_state_used: phase.msg_state_used,
    compute_account_activated: phase.account_activated,
    compute_gas_fees: phase.gas_fees,
    compute_gas_used: phase.gas_used,
    compute_gas_limit: phase.gas_limit,
    compute_gas_credit: phase.gas_credit,
    compute_mode: phase.mode,
    compute_exit_code: phase.exit_code,
    compute_exit_arg: phase.exit_arg,
    compute_vm_steps: phase.vm_steps,
    compute_vm_init_state_hash: phase.vm_init_state_hash,
    compute_vm_final_state_hash: phase.vm_final_state_hash,
  } satisfies Columns;
}

function actionColumns(sent: Sent<ActionPhase>) {
  const phase: ActionPhase = sent ?? {};
  return {
    action_success: phase.success,
    action_valid: phase.valid,
    action_no_funds: phase.no_funds,
    action_status_change: phase.status_change,
    action_total_fwd_fees: phase.total_fwd_fees,
    action_total_action_fees: phase.total_action_fees,
    action_result_code: phase.result_code,
    action_result_arg: phase.result_arg,
    action_tot_actions: phase.tot_actions,
    action_spec_actions: phase.spec_actions,
    action_skipped_actions: phase.skipped_actions,
    action_msgs_created: phase.msgs_created,
    action_list_hash: phase.action_list_hash,
    action_tot_msg_size_cells: phase.tot_msg_size?.cells,
    action_tot_msg_size_bits: phase.tot_msg_size?.bits,
  } satisfies Columns;
}

function bounceColumns(sent: Sent<BouncePhase>) {
  const phase: BouncePhase = sent ?? {};
  return {
    bounce_type: phase.type,
    bounce_msg_size_cells: phase.msg_size?.cells,
    bounce_msg_size_bits: phase.msg_size?.bits,
    bounce_req_fwd_fees: phase.req_fwd_fees,
    bounce_msg_fees: phase.msg_fees,
    bounce_fwd_fees: phase.fwd_fees,
  } satisfies Columns;
}

function splitColumns(sent: Sent<SplitInfo>) {
  const phase: SplitInfo = sent ?? {};
  return {
    split_cur_shard_pfx_len: phase.cur_shard_pfx_len,
    split_acc_split_depth: phase.acc_split_depth,
    split_this_addr: phase.this_addr,
    split_sibling_addr: phase.sibling_addr,
  } satisfies Columns;
}
