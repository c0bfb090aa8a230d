import { index, integer, jsonb, primaryKey, text } from 'drizzle-orm/pg-core';
import { address, amount, hash, int8, loadedAt, moment, describe, ton, restColumns } from '../describe.ts';

export const account_transactions = ton.table(
  'account_transactions',
  {
    account: address().notNull(),
    lt: int8().notNull(),
    hash: hash().notNull(),
    utime: moment().notNull(),
    fee: amount(),
    storage_fee: amount(),
    other_fee: amount(),
    data: text(),
    ...restColumns(),
  },
  (t) => [primaryKey({ columns: [t.account, t.lt] }), index('account_transactions_hash_index').on(t.hash)],
);

describe(account_transactions, {
  comment:
    'Transactions as nodes tell them (v2): of watched accounts back to their first one, and of receivers that were located. They have what v3 lacks: the raw data and the texts of messages.',
  from: 'result[].* of getTransactions',
  columns: {
    account: 'Account of the transaction, raw form.',
    lt: 'Logical time of the transaction, unique within its account. From result[].transaction_id.lt of getTransactions.',
    hash: 'Hash of the transaction, base64: joins transactions.hash. From result[].transaction_id.hash of getTransactions.',
    utime: 'Block time, UTC, of the transaction.',
    fee: 'All fees in nanotons; null only if not sent.',
    storage_fee: 'The part of the fees that was for storage, nanotons; null only if not sent.',
    other_fee: 'The rest of the fees, nanotons; null only if not sent.',
    data: 'The whole transaction as a bag of cells, base64; null only if not sent.',
    extra:
      'Members of result[] of getTransactions that this version of the program has no column for; null if there are none.',
  },
  conflict: { kind: 'keep' },
});

export const account_messages = ton.table(
  'account_messages',
  {
    account: address().notNull(),
    lt: int8().notNull(),
    position: integer().notNull(),
    hash: hash().notNull(),
    source: address(),
    destination: address(),
    value: amount(),
    extra_currencies: jsonb(),
    fwd_fee: amount(),
    ihr_fee: amount(),
    created_lt: int8().notNull(),
    body_hash: hash(),
    message: text(),
    message_decode_error: text(),
    data_type: text().notNull(),
    body: text(),
    init_state: text(),
    text: text(),
    loaded_at: loadedAt(),
  },
  (t) => [primaryKey({ columns: [t.account, t.lt, t.position] })],
);

describe(account_messages, {
  comment:
    'Messages of account_transactions: the one that was received at position 0, those that were sent from 1 on.',
  from: 'in_msg.* of getTransactions',
  columns: {
    account:
      'Account of the transaction that the message belongs to, raw form. From in_msg, and out_msgs, of getTransactions.',
    lt: 'Logical time of the transaction that the message belongs to. From in_msg, and out_msgs, of getTransactions.',
    position:
      '0 for the message received, from 1 on the messages sent, in their order. From in_msg, and out_msgs, of getTransactions.',
    hash: 'Hash of the message, base64: joins messages.hash.',
    source: 'Account that sent it, raw form; null if it came from outside.',
    destination: 'Account that received it, raw form; null if it went outside.',
    value: 'Nanotons that came with it.',
    extra_currencies:
      'Extra currencies that came with it, an array of id and amount. From in_msg.extra_currencies of getTransactions.',
    fwd_fee: 'Nanotons paid for its way.',
    ihr_fee: 'Nanotons paid for instant routing.',
    created_lt: 'Logical time at which it was sent; 0 if it came from outside.',
    body_hash: 'Hash of its body, base64; null if the server sends none.',
    message: "The body's text, or the body in base64 if it is not text; null if it could not be decoded.",
    message_decode_error: 'Why the body could not be decoded; null if it could.',
    data_type:
      'How the body was given: msg.dataRaw, msg.dataText, msg.dataDecryptedText or msg.dataEncryptedText. From in_msg.msg_data of getTransactions.',
    body: 'The body as a bag of cells, base64; null for texts. From in_msg.msg_data, its body, of getTransactions.',
    init_state:
      'State that it deploys, base64, empty for most; null for texts. From in_msg.msg_data, its init_state, of getTransactions.',
    text: 'The text in base64, of data_type msg.data…Text; else null. From in_msg.msg_data, its text, of getTransactions.',
  },
  conflict: { kind: 'keep' },
});

export const message_locations = ton.table('message_locations', {
  hash: hash().primaryKey(),
  account: address().notNull(),
  lt: int8().notNull(),
  tx_hash: hash().notNull(),
  utime: moment().notNull(),
  loaded_at: loadedAt(),
});

describe(message_locations, {
  comment:
    'Where messages were received whose receiving transaction is not stored: the transaction itself is a row of account_transactions.',
  columns: {
    hash: 'Hash of the message, base64: the key, joins messages.hash. The request of tryLocateTx, written by the program.',
    account: 'Account that received the message, raw form. From result.account of tryLocateTx.',
    lt: 'Logical time of the transaction that received it. From result.transaction_id.lt of tryLocateTx.',
    tx_hash:
      'Hash of the transaction that received it, base64. From result.transaction_id.hash of tryLocateTx.',
    utime: 'Block time, UTC, of the transaction that received it. From result.utime of tryLocateTx.',
  },
  conflict: { kind: 'replace' },
});
