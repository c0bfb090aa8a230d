import { account, accountStatus, hash, optionalHash, seqno, shard, workchain } from './members/form.ts';
import { z } from 'zod';
import { extraOutside, extraWithin, orNull, type Extra } from '../dataset/record.ts';
import type { messages } from '../db/schema/ton/messages.ts';
import type { transactions } from '../db/schema/ton/transactions.ts';
import { formatTime } from '../range.ts';
import { accountStateSnapshot, afterColumns, beforeColumns, bocs } from './account-state.ts';
import { description, descriptionColumns, emptyPhases } from './description.ts';
import { message, messageRow, messageTime } from './message.ts';
import {
  extraCurrencies,
  finality,
  flag,
  int,
  requiredDigits,
  requiredInt64,
  requiredSeconds,
} from './members/scalar.ts';

/** The block of a transaction; older recordings leave its shard null. */
const blockRef = z.strictObject({ workchain, shard: shard.nullish(), seqno });

/** A transaction with its messages, as in `transactions` of GET /api/v3/transactions and of a trace. */
export const transaction = z.strictObject({
  account,
  hash,
  lt: requiredInt64,
  now: requiredSeconds,
  mc_block_seqno: int,
  trace_id: optionalHash,
  trace_external_hash: optionalHash,
  prev_trans_hash: optionalHash,
  prev_trans_lt: requiredInt64,
  orig_status: accountStatus,
  end_status: accountStatus,
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

type TransactionRow = typeof transactions.$inferInsert;
type MessageRow = typeof messages.$inferInsert;

/** The rows of one transaction: its own, and one for each of its messages, those that it sent first. */
export interface TransactionRows {
  readonly transactions: readonly TransactionRow[];
  readonly messages: readonly MessageRow[];
}

/**
 * Rows of a transaction and its messages. `extra` are the members that the schema does not name, with paths as within
 * the transaction; those of a message go with the message.
 */
export function transactionRows(record: Transaction, extra: Extra): TransactionRows {
  return { transactions: [transactionRow(record, extra)], messages: messageRows(record, extra) };
}

/** The sender's copies stand first: where a page holds a message twice, the first row is the one that is kept. */
function messageRows({ in_msg, out_msgs, now, hash }: Transaction, extra: Extra): MessageRow[] {
  const sent = (out_msgs ?? []).map((message, index) =>
    messageRow(message, { now, sender: hash, extra: extraWithin(extra, `out_msgs.${index}`) }),
  );
  if (in_msg == null) return sent;
  const received = { now, sender: in_msg.out_msg_tx_hash, extra: extraWithin(extra, 'in_msg') };
  return [...sent, messageRow(in_msg, received)];
}

function transactionRow(record: Transaction, extra: Extra): TransactionRow {
  const { block_ref: block, in_msg } = record;
  return {
    utime: formatTime(record.now),
    lt: record.lt,
    account: record.account,
    hash: record.hash,
    block_workchain: block.workchain,
    block_shard: block.shard,
    block_seqno: block.seqno,
    mc_block_seqno: record.mc_block_seqno,
    trace_id: record.trace_id,
    trace_external_hash: record.trace_external_hash,
    prev_trans_hash: record.prev_trans_hash,
    prev_trans_lt: record.prev_trans_lt,
    orig_status: record.orig_status,
    end_status: record.end_status,
    total_fees: record.total_fees,
    total_fees_extra_currencies: record.total_fees_extra_currencies,
    in_msg_hash: in_msg?.hash,
    in_msg_utime: in_msg == null ? null : formatTime(messageTime(in_msg, record.now)),
    out_msg_count: record.out_msgs?.length,
    ...descriptionColumns(record.description),
    ...beforeColumns(record.account_state_before),
    ...afterColumns(record.account_state_after),
    emulated: record.emulated,
    finality: record.finality,
    extra: orNull({
      ...extraOutside(extra, ['in_msg', 'out_msgs']),
      ...emptyPhases(record.description),
      ...bocs('account_state_before', record.account_state_before),
      ...bocs('account_state_after', record.account_state_after),
    }),
  };
}
