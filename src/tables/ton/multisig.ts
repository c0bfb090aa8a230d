import { boolean, integer, jsonb, primaryKey, text } from 'drizzle-orm/pg-core';
import { address, amount, hash, int8, loadedAt, wide, describe, ton, restColumns } from '../describe.ts';

export const multisig_wallets = ton.table('multisig_wallets', {
  address: address().primaryKey(),
  next_order_seqno: wide(),
  threshold: integer(),
  signers: text().array(),
  proposers: text().array(),
  last_transaction_lt: int8().notNull(),
  code_hash: hash(),
  data_hash: hash(),
  ...restColumns(),
});

describe(multisig_wallets, {
  comment: 'Wallets that several people sign for: one row each, as it was when it was looked up last.',
  from: 'multisigs[].*',
  columns: {
    address: 'Account of the multisig wallet, raw form: the key.',
    next_order_seqno: 'Number that the next order gets, up to 256 bits; null if the server does not tell.',
    threshold: 'Signatures that an order needs; null if the server does not tell.',
    signers: 'Accounts that may sign, raw form, in their order; null if the server does not tell.',
    proposers:
      'Accounts that may propose orders without signing, raw form; null if the server does not tell.',
    last_transaction_lt: "Logical time of the wallet's transaction that left this state.",
    code_hash: "Hash of the multisig wallet's code, base64; null only if not sent.",
    data_hash: "Hash of the multisig wallet's data, base64; null only if not sent.",
  },
  conflict: { kind: 'newer', by: 'last_transaction_lt' },
});

export const multisig_orders = ton.table('multisig_orders', {
  address: address().primaryKey(),
  multisig_address: address().notNull(),
  order_seqno: wide(),
  threshold: integer(),
  sent_for_execution: boolean(),
  approvals_mask: wide(),
  approvals_num: integer(),
  expiration_date: amount(),
  order_boc: text(),
  signers: text().array(),
  action_count: integer(),
  last_transaction_lt: int8().notNull(),
  code_hash: hash(),
  data_hash: hash(),
  ...restColumns(),
});

describe(multisig_orders, {
  comment:
    'Orders of multisig wallets: one row each, with what it does, as it was when it was looked up last.',
  from: 'orders[].*',
  columns: {
    address: "Account of the order's contract, raw form: the key.",
    multisig_address: 'Multisig wallet that the order is for, raw form.',
    order_seqno: 'Number of the order in its wallet, up to 256 bits; null if the server does not tell.',
    threshold: 'Signatures that the order needs; null if the server does not tell.',
    sent_for_execution: 'True if the order has been carried out; null if the server does not tell.',
    approvals_mask:
      'Who has signed, a bit for each signer, up to 256 bits; null if the server does not tell.',
    approvals_num: 'How many have signed; null if the server does not tell.',
    expiration_date:
      'Until when it can be signed, unix seconds of up to 64 bits; to_timestamp(expiration_date) is the time. Null if the server does not tell.',
    order_boc: 'The order itself as a bag of cells, base64; null if the server does not tell.',
    signers: 'Accounts that may sign this order, raw form; null if the server does not tell.',
    action_count:
      'How many things the order does, each a row of multisig_order_actions. The length of orders[].actions; null if the server does not tell.',
    last_transaction_lt: "Logical time of the order's transaction that left this state.",
    code_hash: "Hash of the order's code, base64; null only if not sent.",
    data_hash: "Hash of the order's data, base64; null only if not sent.",
  },
  conflict: { kind: 'newer', by: 'last_transaction_lt' },
});

export const multisig_order_actions = ton.table(
  'multisig_order_actions',
  {
    order_address: address().notNull(),
    position: integer().notNull(),
    destination: address(),
    value: amount(),
    send_mode: integer(),
    body_raw: text(),
    parsed: boolean(),
    parsed_body_type: text(),
    parsed_body: jsonb(),
    error: text(),
    loaded_at: loadedAt(),
  },
  (t) => [primaryKey({ columns: [t.order_address, t.position] })],
);

describe(multisig_order_actions, {
  comment: 'What an order of a multisig wallet does once it is carried out: one row a message that it sends.',
  from: 'orders[].actions[].*',
  columns: {
    order_address: "Account of the order's contract, raw form. From orders[].address, as in multisig_orders.",
    position: 'Place of the action in its order, from 0. The index in orders[].actions.',
    destination: 'Account that gets the message, raw form; null if the action could not be read.',
    value: 'Coins that the message carries, nanotons; null if the action could not be read.',
    send_mode: 'Mode of sending, a number of flags.',
    body_raw: 'Body of the message as a bag of cells, base64; null if there is none.',
    parsed: 'True if the server could read the action.',
    parsed_body_type: 'What kind of body it is, in the words of the server.',
    parsed_body: "The body's members as the server read them; null if it could not.",
    error: 'Why the server could not read the action; null if it could.',
  },
  conflict: { kind: 'replace' },
});
