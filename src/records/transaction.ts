import { account, accountStatus, hash, optionalHash, seqno, shard, workchain } from './members/form.ts';
import * as z from 'zod';
import { column, elsewhere, spread } from '../dataset/declaration/place.ts';
import { sheetOf, type Put } from '../dataset/declaration/sheet.ts';
import { extraOutside, extraWithin, type Extra } from '../dataset/record.ts';
import { transactions } from '../db/schema/ton/transactions.ts';
import { accountStateSnapshot } from './account-state.ts';
import { description } from './description.ts';
import { message, messageRow, messageTime } from './message.ts';
import {
  extraCurrencies,
  finality,
  flag,
  int,
  requiredDigits,
  requiredInt64,
  requiredSeconds,
  timeOf,
} from './members/scalar.ts';

/** The block of a transaction; older recordings leave its shard null. */
const blockRef = z.strictObject({ workchain, shard: shard.nullish(), seqno });

/** A transaction with its messages, as in `transactions` of GET /api/v3/transactions and of a trace. */
export const transaction = z.strictObject({
  account,
  hash,
  lt: requiredInt64,
  now: column('utime', requiredSeconds),
  mc_block_seqno: int,
  trace_id: optionalHash,
  trace_external_hash: optionalHash,
  prev_trans_hash: optionalHash,
  prev_trans_lt: requiredInt64,
  orig_status: accountStatus,
  end_status: accountStatus,
  total_fees: requiredDigits,
  total_fees_extra_currencies: extraCurrencies,
  description: spread('', description),
  block_ref: spread('block_', blockRef),
  in_msg: elsewhere(message.nullish()),
  out_msgs: elsewhere(z.array(message).nullish()),
  account_state_before: spread('before_', accountStateSnapshot.nullish()),
  account_state_after: spread('after_', accountStateSnapshot.nullish()),
  emulated: flag,
  finality,
});

export type Transaction = z.output<typeof transaction>;

const sheet = sheetOf(transactions, transaction);

/**
 * Puts the rows of a transaction and its messages. `extra` are the members that the schema does not name, with paths as
 * within the transaction; those of a message go with the message. The sender's copies stand first: where a page holds a
 * message twice, the first row is the one that is kept.
 */
export function transactionRows(record: Transaction, extra: Extra, put: Put): void {
  transactionRow(record, extra, put);
  sentMessages(record, extra, put);
  receivedMessage(record, extra, put);
}

export function transactionRow(record: Transaction, extra: Extra, put: Put): void {
  const { in_msg, out_msgs, now } = record;
  const given = {
    in_msg_hash: in_msg?.hash,
    in_msg_utime: in_msg == null ? null : timeOf(messageTime(in_msg, now)),
    out_msg_count: out_msgs?.length,
  };
  put(sheet, record, given, extraOutside(extra, ['in_msg', 'out_msgs']));
}

export function sentMessages({ out_msgs, now, hash }: Transaction, extra: Extra, put: Put): void {
  for (const [index, message] of (out_msgs ?? []).entries())
    messageRow(message, { now, sender: hash, extra: extraWithin(extra, `out_msgs.${index}`) }, put);
}

export function receivedMessage({ in_msg, now }: Transaction, extra: Extra, put: Put): void {
  if (in_msg == null) return;
  messageRow(in_msg, { now, sender: in_msg.out_msg_tx_hash, extra: extraWithin(extra, 'in_msg') }, put);
}
