import * as z from 'zod';
import { orNull, type Extra } from '../dataset/declaration/record.ts';
import type { RowsOf } from '../dataset/declaration/row-layout.ts';
import type { account_messages, account_transactions } from '../tables/ton/account-transactions.ts';
import {
  account,
  addressOrNone,
  hash,
  optionalHash,
  accountAddress,
  currency,
  tag,
  transactionId,
} from './members/form.ts';
import { digits, requiredInt64, requiredSeconds, text, timeOf } from './members/scalar.ts';

const messageData = z.strictObject({
  '@type': z.string(),
  body: text,
  init_state: text,
  text,
});

const nodeMessage = z.strictObject({
  '@type': tag,
  hash,
  source: addressOrNone,
  destination: addressOrNone,
  value: digits,
  extra_currencies: z.array(currency).nullish(),
  fwd_fee: digits,
  ihr_fee: digits,
  created_lt: requiredInt64,
  body_hash: optionalHash,
  msg_data: messageData,
  message: text,
  message_decode_error: text,
});

/** One element of the result of getTransactions, and the result of tryLocateTx. */
export const nodeTransaction = z.strictObject({
  '@type': tag,
  address: accountAddress,
  account,
  utime: requiredSeconds,
  data: text,
  transaction_id: transactionId,
  fee: digits,
  storage_fee: digits,
  other_fee: digits,
  in_msg: nodeMessage.nullish(),
  out_msgs: z.array(nodeMessage).nullish(),
});

type NodeTransactionRows = RowsOf<{
  account_transactions: typeof account_transactions;
  account_messages: typeof account_messages;
}>;

/** The rows of a transaction from a node: its own, and those of its messages. */
export function nodeTransactionRows(
  record: z.output<typeof nodeTransaction>,
  extra: Extra,
): NodeTransactionRows {
  const { account, transaction_id, utime, fee, storage_fee, other_fee, data, in_msg, out_msgs } = record;
  const { lt, hash } = transaction_id;
  const own = { account, lt, hash, utime: timeOf(utime), fee, storage_fee, other_fee, data };
  const received = in_msg == null ? [] : [messageRow(in_msg, account, lt, 0)];
  const sent = (out_msgs ?? []).map((message, index) => messageRow(message, account, lt, index + 1));
  return {
    account_transactions: [{ ...own, extra: orNull(extra) }],
    account_messages: [...received, ...sent],
  };
}

function messageRow(
  record: z.output<typeof nodeMessage>,
  account: string,
  lt: string,
  position: number,
): typeof account_messages.$inferInsert {
  const { hash, source, destination, value, fwd_fee, ihr_fee, created_lt, body_hash, ...rest } = record;
  const { message, message_decode_error, msg_data, extra_currencies } = rest;
  const { '@type': data_type, body, init_state, text } = msg_data;
  return {
    account,
    lt,
    position,
    hash,
    source,
    destination,
    value,
    fwd_fee,
    ihr_fee,
    created_lt,
    body_hash,
    message,
    message_decode_error,
    data_type,
    body,
    init_state,
    text,
    extra_currencies: extra_currencies?.map(({ id, amount }) => ({ id, amount })),
  };
}
