import { sql } from 'drizzle-orm';
import { boolean, index, jsonb, primaryKey, text } from 'drizzle-orm/pg-core';
import { address, amount, commentIn, hash, int8, utime, describe, ton, restColumns } from '../describe.ts';

export const messages = ton.table(
  'messages',
  {
    utime: utime(),
    hash: hash().notNull(),
    source: address(),
    destination: address(),
    value: amount(),
    value_extra_currencies: jsonb(),
    fwd_fee: amount(),
    ihr_fee: amount(),
    extra_flags: text(),
    created_lt: int8(),
    opcode: text(),
    decoded_opcode: text(),
    ihr_disabled: boolean(),
    bounce: boolean(),
    bounced: boolean(),
    import_fee: amount(),
    content_hash: hash(),
    content_body: text(),
    content_decoded: jsonb(),
    comment: commentIn('content_decoded'),
    init_state_hash: hash(),
    init_state_body: text(),
    init_state_decoded: jsonb(),
    hash_norm: hash(),
    out_msg_tx_hash: hash(),
    ...restColumns(),
  },
  (t) => [
    primaryKey({ columns: [t.utime, t.hash] }),
    // Messages are searched by hash alone, without a time.
    index('messages_hash').on(t.hash),
    // Wallets know their messages by this hash. Only messages from outside the chain have it.
    index('messages_hash_norm')
      .on(t.hash_norm)
      .where(sql`hash_norm is not null`),
    // What a contract refused, by the account that it returns to.
    index('messages_bounced')
      .on(t.destination, t.utime)
      .where(sql`bounced`),
    // Messages of a master to a jetton wallet: its mints.
    index('messages_jettons')
      .on(t.source, t.destination)
      .where(sql`opcode = '0x178d4519'`),
  ],
);

describe(messages, {
  comment:
    'Messages between accounts, into the chain (external-in: source is null) and out of it (logs: destination is null), one row a message. Both its sender and its receiver bring it (transactions[].out_msgs[] and transactions[].in_msg of GET /api/v3/transactions and of traces). The transaction that received it is the row of transactions with in_msg_hash = hash and in_msg_utime = utime.',
  from: {
    '': 'in_msg.*, out_msgs[].*',
    content_: 'in_msg.message_content.*, out_msgs[].message_content.*',
    init_state_: 'in_msg.init_state.*, out_msgs[].init_state.*',
  },
  columns: {
    utime:
      "Block time, UTC, at which the message was created: the second of the sender's transaction. From created_at; for an external-in message, which has none, now of the transaction that received it.",
    hash: "Hash of the message's cell, base64. Together with utime it names the message; the hash of an external-in message alone may recur.",
    source:
      'Account that sent the message, raw form. Null for an external-in message, which comes from outside the chain.',
    destination:
      'Account that the message is for, raw form. Null for an external-out message (a log record).',
    value: 'Coins that the message carries, nanotons. Null for external messages, which carry none.',
    value_extra_currencies:
      'Other currencies that the message carries, as an object of amounts by currency id; {} means none, null that the server did not say.',
    fwd_fee:
      "Forwarding fee of the message that is left for the receiver's validators, nanotons. Null for external messages.",
    ihr_fee: 'Fee for instant hypercube routing, nanotons, 0 in practice. Null for external messages.',
    extra_flags:
      'Extra flags of an internal message (global version 12 and later put them in the place of ihr_fee), as a string of digits. Null if the server did not send them.',
    created_lt:
      "Logical time at which the message was created; orders the out messages of one transaction. Null for external-in messages (then the API's created_at is null too).",
    opcode:
      'First 32 bits of the body, 0x and 8 lower-case hex digits: the operation that the message asks for. Null if the body is shorter.',
    decoded_opcode: "Name of the operation, as the server's decoder knows it; null if it does not.",
    ihr_disabled: 'True if the message is not to use instant hypercube routing. Null for external messages.',
    bounce: 'True if the value is to come back if the receiver fails. Null for external messages.',
    bounced: 'True for a message that came back because its receiver failed. Null for external messages.',
    import_fee:
      'Fee for importing an external-in message, nanotons, 0 in practice; null for all others. From in_msg.import_fee.',
    content_hash:
      "Hash of the body's cell, base64; equal bodies have equal hashes. Null if the server had no content yet.",
    content_body:
      'The body as a bag of cells, base64. Null if the server had no content yet; it is filled when it comes.',
    content_decoded:
      "What the server's decoder made of the body, in its own shape; null if it knows no shape.",
    comment:
      'Text comment that the message carries as its body. Null if it carries none, or an encrypted or binary one; null, too, if the server did not decode the body. From in_msg.message_content.decoded.comment, out_msgs[].message_content.decoded.comment.',
    init_state_hash:
      'Hash of the initial state (code and data) that deploys the receiver, base64; null if the message brings none.',
    init_state_body: 'The initial state as a bag of cells, base64; null if the message brings none.',
    init_state_decoded: "What the server's decoder made of the initial state; null in practice.",
    hash_norm:
      'Normalized hash of an external-in message, base64: the same for all encodings of one message, the one that wallets show. Null if it equals hash, so for all others. From in_msg.hash_norm.',
    out_msg_tx_hash:
      "Hash of the transaction that sent the message, base64; its utime is the message's. Null for external-in messages, and until the sender is stored. The hash of the transaction in whose out_msgs it stands.",
    extra:
      'Members of a message that this version of the program has no column for, by dotted path; null if there are none.',
  },
  owner: 'transactions',
  conflict: {
    kind: 'fill',
    // All except out_msg_tx_hash: a lagging server sends a message before its content.
    columns: [
      'out_msg_tx_hash',
      'value_extra_currencies',
      'decoded_opcode',
      'content_hash',
      'content_body',
      'content_decoded',
      'init_state_hash',
      'init_state_body',
      'init_state_decoded',
      'hash_norm',
      'extra',
    ],
  },
  shared: { ends: ['source', 'destination'] },
  partitioned: true,
});
