import { index } from 'drizzle-orm/pg-core';
import {
  address,
  amount,
  hash,
  int8,
  integer,
  jsonb,
  loadedAt,
  moment,
  restColumns,
  text,
  tonTable,
} from '../describe.ts';

export const account_transactions = tonTable('account_transactions', {
  comment:
    'Transactions as nodes tell them (v2): of watched accounts back to their first one, and of receivers that were located. They have what v3 lacks: the raw data and the texts of messages.',
  from: 'result[].* of getTransactions',
  columns: {
    account: address('Account of the transaction, raw form.').notNull(),
    lt: int8(
      'Logical time of the transaction, unique within its account. From result[].transaction_id.lt of getTransactions.',
    ).notNull(),
    hash: hash(
      'Hash of the transaction, base64: joins transactions.hash. From result[].transaction_id.hash of getTransactions.',
    ).notNull(),
    utime: moment('Block time, UTC, of the transaction.').notNull(),
    fee: amount('All fees in nanotons; null only if not sent.'),
    storage_fee: amount('The part of the fees that was for storage, nanotons; null only if not sent.'),
    other_fee: amount('The rest of the fees, nanotons; null only if not sent.'),
    data: text('The whole transaction as a bag of cells, base64; null only if not sent.'),
    ...restColumns(
      'Members of result[] of getTransactions that this version of the program has no column for; null if there are none.',
    ),
  },
  key: ['account', 'lt'],
  indexes: (t) => [index('account_transactions_hash_index').on(t.hash)],
  conflict: { kind: 'keep' },
});

export const account_messages = tonTable('account_messages', {
  comment:
    'Messages of account_transactions: the one that was received at position 0, those that were sent from 1 on.',
  from: 'in_msg.* of getTransactions',
  columns: {
    account: address(
      'Account of the transaction that the message belongs to, raw form. From in_msg, and out_msgs, of getTransactions.',
    ).notNull(),
    lt: int8(
      'Logical time of the transaction that the message belongs to. From in_msg, and out_msgs, of getTransactions.',
    ).notNull(),
    position: integer(
      '0 for the message received, from 1 on the messages sent, in their order. From in_msg, and out_msgs, of getTransactions.',
    ).notNull(),
    hash: hash('Hash of the message, base64: joins messages.hash.').notNull(),
    source: address('Account that sent it, raw form; null if it came from outside.'),
    destination: address('Account that received it, raw form; null if it went outside.'),
    value: amount('Nanotons that came with it.'),
    extra_currencies: jsonb(
      'Extra currencies that came with it, an array of id and amount. From in_msg.extra_currencies of getTransactions.',
    ),
    fwd_fee: amount('Nanotons paid for its way.'),
    ihr_fee: amount('Nanotons paid for instant routing.'),
    created_lt: int8('Logical time at which it was sent; 0 if it came from outside.').notNull(),
    body_hash: hash('Hash of its body, base64; null if the server sends none.'),
    message: text(
      "The body's text, or the body in base64 if it is not text; null if it could not be decoded.",
    ),
    message_decode_error: text('Why the body could not be decoded; null if it could.'),
    data_type: text(
      'How the body was given: msg.dataRaw, msg.dataText, msg.dataDecryptedText or msg.dataEncryptedText. From in_msg.msg_data of getTransactions.',
    ).notNull(),
    body: text(
      'The body as a bag of cells, base64; null for texts. From in_msg.msg_data, its body, of getTransactions.',
    ),
    init_state: text(
      'State that it deploys, base64, empty for most; null for texts. From in_msg.msg_data, its init_state, of getTransactions.',
    ),
    text: text(
      'The text in base64, of data_type msg.data…Text; else null. From in_msg.msg_data, its text, of getTransactions.',
    ),
    loaded_at: loadedAt(),
  },
  key: ['account', 'lt', 'position'],
  conflict: { kind: 'keep' },
});

export const message_locations = tonTable('message_locations', {
  comment:
    'Where messages were received whose receiving transaction is not stored: the transaction itself is a row of account_transactions.',
  columns: {
    hash: hash(
      'Hash of the message, base64: the key, joins messages.hash. The request of tryLocateTx, written by the program.',
    ).primaryKey(),
    account: address(
      'Account that received the message, raw form. From result.account of tryLocateTx.',
    ).notNull(),
    lt: int8(
      'Logical time of the transaction that received it. From result.transaction_id.lt of tryLocateTx.',
    ).notNull(),
    tx_hash: hash(
      'Hash of the transaction that received it, base64. From result.transaction_id.hash of tryLocateTx.',
    ).notNull(),
    utime: moment(
      'Block time, UTC, of the transaction that received it. From result.utime of tryLocateTx.',
    ).notNull(),
    loaded_at: loadedAt(),
  },
  conflict: { kind: 'replace' },
});
