import * as z from 'zod';
import {
  account,
  accountStatus,
  hash,
  optionalHash,
  seqno,
  shard,
  workchain,
  optionalAddress,
  extraCurrencies,
  finality,
  flag,
  int,
  requiredDigits,
  requiredInt64,
  requiredSeconds,
  digits,
  text,
  count,
  int64,
  freeForm,
  opcode,
  seconds,
  type Seconds,
  addressOrNone,
  accountAddress,
  currency,
  tag,
  transactionId,
} from './members.ts';
import {
  column,
  elsewhere,
  spread,
  inExtra,
  phase,
  rowLayoutOf,
  type Put,
  extraOutside,
  extraWithin,
  type Extra,
} from '../dataset/declaration/record.ts';
import { formatTime } from '../range.ts';
import { transactions, messages } from '../tables/ton/transactions.ts';
import { account_messages, account_transactions } from '../tables/ton/account-transactions.ts';

const messageData = z.strictObject({
  '@type': column('data_type', z.string()),
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
  extra_currencies: elsewhere(z.array(currency).nullish()),
  fwd_fee: digits,
  ihr_fee: digits,
  created_lt: requiredInt64,
  body_hash: optionalHash,
  msg_data: spread('', messageData),
  message: text,
  message_decode_error: text,
});

/** One element of the result of getTransactions, and the result of tryLocateTx. */
export const nodeTransaction = z.strictObject({
  '@type': tag,
  address: elsewhere(accountAddress),
  account,
  utime: requiredSeconds,
  data: text,
  transaction_id: spread('', transactionId),
  fee: digits,
  storage_fee: digits,
  other_fee: digits,
  in_msg: elsewhere(nodeMessage.nullish()),
  out_msgs: elsewhere(z.array(nodeMessage).nullish()),
});

const nodeLayout = rowLayoutOf(account_transactions, nodeTransaction);
const nodeMessageLayout = rowLayoutOf(account_messages, nodeMessage);

/** Puts the rows of a transaction from a node: its own, and those of its messages. */
export function nodeTransactionRows(record: z.output<typeof nodeTransaction>, extra: Extra, put: Put): void {
  put(nodeLayout, record, {}, extra);
  const { account, transaction_id, in_msg, out_msgs } = record;
  for (const [position, message] of [in_msg, ...(out_msgs ?? [])].entries()) {
    if (message == null) continue;
    const extra_currencies = message.extra_currencies?.map(({ id, amount }) => ({ id, amount }));
    put(nodeMessageLayout, message, { account, lt: transaction_id.lt, position, extra_currencies });
  }
}

/** A cell that a message carries: its body or its init state. `decoded` is the result of the server's decoder. */
const messageContent = z.strictObject({ hash: optionalHash, body: text, decoded: freeForm });

/**
 * A message, as in `in_msg` and `out_msgs` of a transaction and in `messages` of GET /api/v3/messages. An external-in
 * message has no source, value, created_lt and created_at; an external-out one has no destination.
 */
export const message = z.strictObject({
  hash,
  source: optionalAddress,
  destination: optionalAddress,
  value: digits,
  value_extra_currencies: extraCurrencies,
  fwd_fee: digits,
  ihr_fee: digits,
  extra_flags: text,
  created_lt: int64,
  created_at: elsewhere(seconds),
  opcode,
  decoded_opcode: text,
  ihr_disabled: flag,
  bounce: flag,
  bounced: flag,
  import_fee: digits,
  in_msg_tx_hash: elsewhere(optionalHash),
  out_msg_tx_hash: elsewhere(optionalHash),
  message_content: spread('content_', messageContent.nullish()),
  init_state: spread('init_state_', messageContent.nullish()),
  hash_norm: optionalHash,
});

export type Message = z.output<typeof message>;

/** Facts about a message that it does not have itself, because it is part of a transaction. */
interface Carrier {
  /** Unix seconds of the transaction that carries the message: an external-in message has no time of its own. */
  readonly now: Seconds;
  /** Hash of the transaction that sent the message, if it is known. */
  readonly sender: string | null | undefined;
  /** The message's members that its schema does not name. */
  readonly extra: Extra | null;
}

/** The time of a message's row: its own, or that of the transaction that received it. */
function messageTime(message: Message, now: Seconds): string {
  return formatTime(Number(message.created_at ?? now));
}

const messageLayout = rowLayoutOf(messages, message);

export function messageRow(message: Message, { now, sender, extra }: Carrier, put: Put): void {
  const given = { utime: messageTime(message, now), out_msg_tx_hash: sender };
  put(messageLayout, message, given, withLeftover(message, extra));
}

/** `created_at` equals the row's `utime`, or is null if `created_lt` is. A value that does not goes to `extra`. */
function withLeftover({ created_at, created_lt }: Message, extra: Extra | null): Extra | null {
  if ((created_at == null) === (created_lt == null)) return extra;
  return { ...extra, created_at: created_at == null ? null : String(created_at) };
}

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
const description = z.strictObject({
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

/**
 * An account's state before or after a transaction. Only the hash is certain: servers send null for the rest if they do
 * not hold the state. `code_boc` and `data_boc` are documented, but no server is known to send them here.
 */
const accountStateSnapshot = z.strictObject({
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

const rowLayout = rowLayoutOf(transactions, transaction);

/**
 * Puts the rows of a transaction and its messages. `extra` has the members that the schema does not name, with paths
 * within the transaction; those of a message go with the message. The sender's copies come first: if a page has a
 * message twice, its first row is kept.
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
    in_msg_utime: in_msg == null ? null : messageTime(in_msg, now),
    out_msg_count: out_msgs?.length,
  };
  put(rowLayout, record, given, extraOutside(extra, ['in_msg', 'out_msgs']));
}

export function sentMessages({ out_msgs, now, hash }: Transaction, extra: Extra, put: Put): void {
  for (const [index, message] of (out_msgs ?? []).entries())
    messageRow(message, { now, sender: hash, extra: extraWithin(extra, `out_msgs.${index}`) }, put);
}

export function receivedMessage({ in_msg, now }: Transaction, extra: Extra, put: Put): void {
  if (in_msg == null) return;
  messageRow(in_msg, { now, sender: in_msg.out_msg_tx_hash, extra: extraWithin(extra, 'in_msg') }, put);
}
