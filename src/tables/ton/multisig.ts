import {
  address,
  amount,
  boolean,
  digitsOf,
  hash,
  int8,
  integer,
  jsonb,
  loadedAt,
  restColumns,
  text,
  texts,
  tonTable,
  wide,
} from '../describe.ts';

export const multisig_wallets = tonTable('multisig_wallets', {
  comment: 'Wallets that several people sign for: one row each, as it was when it was looked up last.',
  from: 'multisigs[].*',
  columns: {
    address: address('Account of the multisig wallet, raw form: the key.').primaryKey(),
    next_order_seqno: wide(
      'Number that the next order gets, up to 256 bits; null if the server does not tell.',
    ),
    next_order_seqno_text: digitsOf('next_order_seqno', 'multisigs[].next_order_seqno'),
    threshold: integer('Signatures that an order needs; null if the server does not tell.'),
    signers: texts('Accounts that may sign, raw form, in their order; null if the server does not tell.'),
    proposers: texts(
      'Accounts that may propose orders without signing, raw form; null if the server does not tell.',
    ),
    last_transaction_lt: int8("Logical time of the wallet's transaction that left this state.").notNull(),
    code_hash: hash("Hash of the multisig wallet's code, base64; null only if not sent."),
    data_hash: hash("Hash of the multisig wallet's data, base64; null only if not sent."),
    ...restColumns(),
  },
  conflict: { kind: 'newer', by: 'last_transaction_lt' },
});

export const multisig_orders = tonTable('multisig_orders', {
  comment:
    'Orders of multisig wallets: one row each, with what it does, as it was when it was looked up last.',
  from: 'orders[].*',
  columns: {
    address: address("Account of the order's contract, raw form: the key.").primaryKey(),
    multisig_address: address('Multisig wallet that the order is for, raw form.').notNull(),
    order_seqno: wide('Number of the order in its wallet, up to 256 bits; null if the server does not tell.'),
    order_seqno_text: digitsOf('order_seqno', 'orders[].order_seqno'),
    threshold: integer('Signatures that the order needs; null if the server does not tell.'),
    sent_for_execution: boolean('True if the order has been carried out; null if the server does not tell.'),
    approvals_mask: wide(
      'Who has signed, a bit for each signer, up to 256 bits; null if the server does not tell.',
    ),
    approvals_mask_text: digitsOf('approvals_mask', 'orders[].approvals_mask'),
    approvals_num: integer('How many have signed; null if the server does not tell.'),
    expiration_date: amount(
      'Until when it can be signed, unix seconds of up to 64 bits; to_timestamp(expiration_date) is the time. Null if the server does not tell.',
    ),
    order_boc: text('The order itself as a bag of cells, base64; null if the server does not tell.'),
    signers: texts('Accounts that may sign this order, raw form; null if the server does not tell.'),
    action_count: integer(
      'How many things the order does, each a row of multisig_order_actions. The length of orders[].actions; null if the server does not tell.',
    ),
    last_transaction_lt: int8("Logical time of the order's transaction that left this state.").notNull(),
    code_hash: hash("Hash of the order's code, base64; null only if not sent."),
    data_hash: hash("Hash of the order's data, base64; null only if not sent."),
    ...restColumns(),
  },
  conflict: { kind: 'newer', by: 'last_transaction_lt' },
});

export const multisig_order_actions = tonTable('multisig_order_actions', {
  comment: 'What an order of a multisig wallet does once it is carried out: one row a message that it sends.',
  from: 'orders[].actions[].*',
  columns: {
    order_address: address(
      "Account of the order's contract, raw form. From orders[].address, as in multisig_orders.",
    ).notNull(),
    position: integer('Place of the action in its order, from 0. The index in orders[].actions.').notNull(),
    destination: address('Account that gets the message, raw form; null if the action could not be read.'),
    value: amount('Coins that the message carries, nanotons; null if the action could not be read.'),
    send_mode: integer('Mode of sending, a number of flags.'),
    body_raw: text('Body of the message as a bag of cells, base64; null if there is none.'),
    parsed: boolean('True if the server could read the action.'),
    parsed_body_type: text('What kind of body it is, in the words of the server.'),
    parsed_body: jsonb("The body's members as the server read them; null if it could not."),
    error: text('Why the server could not read the action; null if it could.'),
    loaded_at: loadedAt(),
  },
  key: ['order_address', 'position'],
  conflict: { kind: 'replace' },
});
