import { bigint, boolean, index, integer, jsonb, primaryKey, text } from 'drizzle-orm/pg-core';
import { address, amount, hash, int8, loadedAt, moment, utime } from '../columns.ts';
import { describe } from '../describe.ts';
import { ton } from '../schemas.ts';
import { transactionComments } from './transaction-comments.ts';

export const transactions = ton.table(
  'transactions',
  {
    utime: utime(),
    lt: int8().notNull(),
    account: address().notNull(),
    hash: hash().notNull(),
    block_workchain: integer().notNull(),
    block_shard: text(),
    block_seqno: integer().notNull(),
    mc_block_seqno: integer(),
    trace_id: hash(),
    trace_external_hash: hash(),
    prev_trans_hash: hash(),
    prev_trans_lt: int8().notNull(),
    orig_status: text().notNull(),
    end_status: text().notNull(),
    total_fees: amount().notNull(),
    total_fees_extra_currencies: jsonb(),
    in_msg_hash: hash(),
    in_msg_utime: moment(),
    out_msg_count: integer(),

    description_type: text().notNull(),
    aborted: boolean(),
    destroyed: boolean(),
    credit_first: boolean(),
    is_tock: boolean(),
    installed: boolean(),

    storage_fees_collected: amount(),
    storage_fees_due: amount(),
    storage_status_change: text(),

    credit_due_fees_collected: amount(),
    credit: amount(),
    credit_extra_currencies: jsonb(),

    compute_skipped: boolean(),
    compute_reason: text(),
    compute_success: boolean(),
    compute_msg_state_used: boolean(),
    compute_account_activated: boolean(),
    compute_gas_fees: amount(),
    compute_gas_used: int8(),
    compute_gas_limit: int8(),
    compute_gas_credit: int8(),
    compute_mode: integer(),
    compute_exit_code: integer(),
    compute_exit_arg: integer(),
    compute_vm_steps: bigint({ mode: 'number' }),
    compute_vm_init_state_hash: hash(),
    compute_vm_final_state_hash: hash(),

    action_success: boolean(),
    action_valid: boolean(),
    action_no_funds: boolean(),
    action_status_change: text(),
    action_total_fwd_fees: amount(),
    action_total_action_fees: amount(),
    action_result_code: integer(),
    action_result_arg: integer(),
    action_tot_actions: integer(),
    action_spec_actions: integer(),
    action_skipped_actions: integer(),
    action_msgs_created: integer(),
    action_list_hash: hash(),
    action_tot_msg_size_cells: int8(),
    action_tot_msg_size_bits: int8(),

    bounce_type: text(),
    bounce_msg_size_cells: int8(),
    bounce_msg_size_bits: int8(),
    bounce_req_fwd_fees: amount(),
    bounce_msg_fees: amount(),
    bounce_fwd_fees: amount(),

    split_cur_shard_pfx_len: integer(),
    split_acc_split_depth: integer(),
    split_this_addr: text(),
    split_sibling_addr: text(),

    before_hash: hash(),
    before_balance: amount(),
    before_extra_currencies: jsonb(),
    before_account_status: text(),
    before_frozen_hash: hash(),
    before_data_hash: hash(),
    before_code_hash: hash(),

    after_hash: hash(),
    after_balance: amount(),
    after_extra_currencies: jsonb(),
    after_account_status: text(),
    after_frozen_hash: hash(),
    after_data_hash: hash(),
    after_code_hash: hash(),

    emulated: boolean(),
    finality: text(),
    extra: jsonb(),
    loaded_at: loadedAt(),
  },
  (t) => [
    primaryKey({ columns: [t.utime, t.lt, t.account] }),
    // Transactions are searched by hash alone, without a time.
    index('transactions_hash').on(t.hash),
    // An account's history, newest first: the most frequent query.
    index('transactions_account').on(t.account, t.utime, t.lt),
  ],
);

describe(transactions, {
  comment:
    "Transactions of all accounts in all workchains, one row a transaction, with what happened in each of its phases and the account's state before and after. Read from GET /api/v3/transactions and from traces; its messages are in messages.",
  columns: transactionComments,
  key: ['utime', 'lt', 'account'],
  owner: 'transactions',
  conflict: {
    kind: 'fill',
    // A server may send a transaction before it knows the trace and the account's states.
    columns: [
      'trace_id',
      'before_hash',
      'before_balance',
      'before_extra_currencies',
      'before_account_status',
      'before_frozen_hash',
      'before_data_hash',
      'before_code_hash',
      'after_hash',
      'after_balance',
      'after_extra_currencies',
      'after_account_status',
      'after_frozen_hash',
      'after_data_hash',
      'after_code_hash',
      'extra',
    ],
  },
  lacking: ['trace_external_hash'],
  partitioned: true,
});
