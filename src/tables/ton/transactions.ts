import { sql } from 'drizzle-orm';
import { index } from 'drizzle-orm/pg-core';
import {
  address,
  amount,
  boolean,
  commentIn,
  count8,
  hash,
  int8,
  integer,
  jsonb,
  moment,
  restColumns,
  text,
  tonTable,
  utime,
} from '../describe.ts';

export const messages = tonTable('messages', {
  comment:
    'Messages between accounts, into the chain (external-in: source is null) and out of it (logs: destination is null), one row a message. Both its sender and its receiver bring it (transactions[].out_msgs[] and transactions[].in_msg of GET /api/v3/transactions and of traces). The transaction that received it is the row of transactions with in_msg_hash = hash and in_msg_utime = utime.',
  from: {
    '': 'in_msg.*, out_msgs[].*',
    content_: 'in_msg.message_content.*, out_msgs[].message_content.*',
    init_state_: 'in_msg.init_state.*, out_msgs[].init_state.*',
  },
  columns: {
    utime: utime(
      "Block time, UTC, at which the message was created: the second of the sender's transaction. From created_at; for an external-in message, which has none, now of the transaction that received it.",
    ),
    hash: hash(
      "Hash of the message's cell, base64. Together with utime it names the message; the hash of an external-in message alone may recur.",
    ).notNull(),
    source: address(
      'Account that sent the message, raw form. Null for an external-in message, which comes from outside the chain.',
    ),
    destination: address(
      'Account that the message is for, raw form. Null for an external-out message (a log record).',
    ),
    value: amount('Coins that the message carries, nanotons. Null for external messages, which carry none.'),
    value_extra_currencies: jsonb(
      'Other currencies that the message carries, as an object of amounts by currency id; {} means none, null that the server did not say.',
    ),
    fwd_fee: amount(
      "Forwarding fee of the message that is left for the receiver's validators, nanotons. Null for external messages.",
    ),
    ihr_fee: amount(
      'Fee for instant hypercube routing, nanotons, 0 in practice. Null for external messages.',
    ),
    extra_flags: text(
      'Extra flags of an internal message (global version 12 and later put them in the place of ihr_fee), as a string of digits. Null if the server did not send them.',
    ),
    created_lt: int8(
      "Logical time at which the message was created; orders the out messages of one transaction. Null for external-in messages (then the API's created_at is null too).",
    ),
    opcode: text(
      'First 32 bits of the body, 0x and 8 lower-case hex digits: the operation that the message asks for. Null if the body is shorter.',
    ),
    decoded_opcode: text("Name of the operation, as the server's decoder knows it; null if it does not."),
    ihr_disabled: boolean(
      'True if the message is not to use instant hypercube routing. Null for external messages.',
    ),
    bounce: boolean('True if the value is to come back if the receiver fails. Null for external messages.'),
    bounced: boolean(
      'True for a message that came back because its receiver failed. Null for external messages.',
    ),
    import_fee: amount(
      'Fee for importing an external-in message, nanotons, 0 in practice; null for all others. From in_msg.import_fee.',
    ),
    content_hash: hash(
      "Hash of the body's cell, base64; equal bodies have equal hashes. Null if the server had no content yet.",
    ),
    content_body: text(
      'The body as a bag of cells, base64. Null if the server had no content yet; it is filled when it comes.',
    ),
    content_decoded: jsonb(
      "What the server's decoder made of the body, in its own shape; null if it knows no shape.",
    ),
    comment: commentIn(
      'content_decoded',
      'Text comment that the message carries as its body. Null if it carries none, or an encrypted or binary one; null, too, if the server did not decode the body. From in_msg.message_content.decoded.comment, out_msgs[].message_content.decoded.comment.',
    ),
    init_state_hash: hash(
      'Hash of the initial state (code and data) that deploys the receiver, base64; null if the message brings none.',
    ),
    init_state_body: text('The initial state as a bag of cells, base64; null if the message brings none.'),
    init_state_decoded: jsonb("What the server's decoder made of the initial state; null in practice."),
    hash_norm: hash(
      'Normalized hash of an external-in message, base64: the same for all encodings of one message, the one that wallets show. Null if it equals hash, so for all others. From in_msg.hash_norm.',
    ),
    out_msg_tx_hash: hash(
      "Hash of the transaction that sent the message, base64; its utime is the message's. Null for external-in messages, and until the sender is stored. The hash of the transaction in whose out_msgs it stands.",
    ),
    ...restColumns(
      'Members of a message that this version of the program has no column for, by dotted path; null if there are none.',
    ),
  },
  key: ['utime', 'hash'],
  indexes: (t) => [
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
    // Messages of a master to a jetton wallet: its mints, all and those of a day.
    index('messages_jettons')
      .on(t.source, t.destination)
      .where(sql`opcode = '0x178d4519'`),
    index('messages_minted')
      .on(t.utime)
      .where(sql`opcode = '0x178d4519'`),
  ],
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

export const transactions = tonTable('transactions', {
  comment:
    "Transactions of all accounts in all workchains, one row a transaction, with what happened in each of its phases and the account's state before and after. Read from GET /api/v3/transactions and from traces; its messages are in messages.",
  from: {
    '': 'transactions[].*',
    block_: 'transactions[].block_ref.*',
    description_: 'transactions[].description.*',
    storage_: 'transactions[].description.storage_ph.*',
    storage_fees_: 'transactions[].description.storage_ph.storage_fees_*',
    compute_: 'transactions[].description.compute_ph.*',
    action_: 'transactions[].description.action.*',
    action_tot_msg_size_: 'transactions[].description.action.tot_msg_size.*',
    bounce_: 'transactions[].description.bounce.*',
    bounce_msg_size_: 'transactions[].description.bounce.msg_size.*',
    credit_: 'transactions[].description.credit_ph.*',
    split_: 'transactions[].description.split_info.*',
    before_: 'transactions[].account_state_before.*',
    after_: 'transactions[].account_state_after.*',
  },
  columns: {
    utime: utime("Block time, UTC, of the transaction's block, to the second. From transactions[].now."),
    lt: int8(
      "Logical time of the transaction: orders one account's transactions, and is unique within the account only.",
    ).notNull(),
    account: address('Account on which the transaction ran, raw form (workchain:HEX).').notNull(),
    hash: hash('Hash of the transaction, base64: its identity.').notNull(),
    block_workchain: integer("Workchain of the transaction's block: -1 masterchain, 0 basechain.").notNull(),
    block_shard: text(
      "Shard of the transaction's block, upper-case hex. Null in older recordings, which leave it out for shard blocks.",
    ),
    block_seqno: integer("Number of the transaction's block in its shard.").notNull(),
    mc_block_seqno: integer(
      "Number of the masterchain block that registered the transaction's block; null only for a transaction not yet registered.",
    ),
    trace_id: hash(
      'Trace that the transaction belongs to, base64: the hash of the first transaction of the chain of messages. Null if the server did not know it yet; it is filled when it comes.',
    ),
    trace_external_hash: hash(
      'Hash of the external message that started the trace. Sent for pending transactions only, else null.',
    ),
    prev_trans_hash: hash("Hash of the account's previous transaction, base64; all zeros for its first."),
    prev_trans_lt: int8(
      "Logical time of the account's previous transaction; 0 for its first, also after it was deleted.",
    ).notNull(),
    orig_status: text(
      'Status of the account before the transaction: uninit, active, frozen or nonexist.',
    ).notNull(),
    end_status: text(
      'Status of the account after the transaction: uninit, active, frozen or nonexist.',
    ).notNull(),
    total_fees: amount(
      'Fees that the validators collected in this transaction, nanotons: storage, gas, actions and import; forwarding fees of out messages come on top.',
    ).notNull(),
    total_fees_extra_currencies: jsonb(
      'Fees collected in other currencies, an object of amounts by currency id; {} means none, null that the server did not say.',
    ),
    in_msg_hash: hash(
      'Hash of the message that started the transaction, base64; with in_msg_utime it finds the row of messages. Null for transactions without one (tick-tock and the like). From transactions[].in_msg.hash.',
    ),
    in_msg_utime: moment(
      "Time, UTC, of the message that started the transaction: utime of its row in messages. Null if there was none. From transactions[].in_msg.created_at, or the transaction's now for an external-in message.",
    ),
    out_msg_count: integer(
      'How many messages the transaction sent, with logs: each is a row of messages with its hash as out_msg_tx_hash. The length of transactions[].out_msgs; null only if not sent.',
    ),

    description_type: text(
      'Kind of transaction: ord, tick_tock, storage, split_prepare, split_install, merge_prepare or merge_install.',
    ).notNull(),
    aborted: boolean(
      'True if the transaction failed and its effects were undone, fees aside. Null for the kinds that cannot abort. From transactions[].description.aborted.',
    ),
    destroyed: boolean(
      'True if the transaction deleted the account. Null for the kinds that cannot. From transactions[].description.destroyed.',
    ),
    credit_first: boolean(
      "True if the message's value was credited before storage fees were taken. Null for all but ord. From transactions[].description.credit_first.",
    ),
    is_tock: boolean(
      'Of a tick-tock transaction: true ran at the end of the masterchain block (tock), false at its start (tick). Null for other kinds. From transactions[].description.is_tock.',
    ),
    installed: boolean(
      'Of a split or merge installation: whether it succeeded. Null for other kinds. From transactions[].description.installed.',
    ),

    storage_fees_collected: amount(
      'Storage phase: fee taken for keeping the account since its last transaction, nanotons. Null without that phase.',
    ),
    storage_fees_due: amount(
      'Storage phase: storage fee that the account could not pay and owes, nanotons. Null if nothing is owed.',
    ),
    storage_status_change: text(
      'Storage phase: what unpaid storage did to the account: unchanged, frozen or deleted. Null without that phase.',
    ),

    credit_due_fees_collected: amount(
      'Credit phase: older storage debt taken from the incoming value, nanotons. Null if none was owed.',
    ),
    credit: amount(
      'Credit phase: coins credited to the account from the incoming message, nanotons. Null without that phase. From transactions[].description.credit_ph.credit.',
    ),
    credit_extra_currencies: jsonb(
      'Credit phase: other currencies credited, an object of amounts by currency id; {} means none, null not said. From transactions[].description.credit_ph.credit_extra_currencies.',
    ),

    compute_skipped: boolean(
      'Compute phase: true if the contract was not run (see compute_reason). Null without that phase, and in old recordings.',
    ),
    compute_reason: text(
      'Compute phase: why the contract was not run: no_state, bad_state, no_gas or suspended. Null if it was.',
    ),
    compute_success: boolean(
      'Compute phase: true if the contract ended with an exit code of success. Null if it was skipped.',
    ),
    compute_msg_state_used: boolean(
      "Compute phase: true if the state came from the message's init state. Null if skipped.",
    ),
    compute_account_activated: boolean(
      'Compute phase: true if the run turned a frozen or new account active. Null if skipped.',
    ),
    compute_gas_fees: amount('Compute phase: fee paid for gas, nanotons. Null if skipped.'),
    compute_gas_used: int8('Compute phase: gas that the contract used, gas units. Null if skipped.'),
    compute_gas_limit: int8(
      'Compute phase: gas that the contract was allowed to use, gas units; 0 until it accepts an external message. Null if skipped.',
    ),
    compute_gas_credit: int8(
      'Compute phase: gas lent to the contract until it accepts an external message, gas units. Null for internal messages.',
    ),
    compute_mode: integer(
      'Compute phase: mode in which the virtual machine ran, 0 in practice. Null if skipped.',
    ),
    compute_exit_code: integer(
      'Compute phase: exit code of the contract, 0 and 1 mean success. Null if skipped.',
    ),
    compute_exit_arg: integer(
      'Compute phase: argument of the exception that ended the contract. Null if there is none or it is 0.',
    ),
    compute_vm_steps: count8('Compute phase: steps that the virtual machine made. Null if skipped.'),
    compute_vm_init_state_hash: hash(
      "Compute phase: hash of the virtual machine's initial state, base64, zeros in practice. Null if skipped.",
    ),
    compute_vm_final_state_hash: hash(
      "Compute phase: hash of the virtual machine's final state, base64, zeros in practice. Null if skipped.",
    ),

    action_success: boolean(
      'Action phase: true if all actions of the contract were carried out. Null if the phase did not run.',
    ),
    action_valid: boolean(
      'Action phase: true if the list of actions was well formed. Null if the phase did not run.',
    ),
    action_no_funds: boolean(
      'Action phase: true if coins were not enough for an action. Null if the phase did not run.',
    ),
    action_status_change: text(
      'Action phase: what it did to the account: unchanged, frozen or deleted. Null if the phase did not run.',
    ),
    action_total_fwd_fees: amount(
      'Action phase: forwarding fees of all out messages together, nanotons. Null if none was due.',
    ),
    action_total_action_fees: amount(
      "Action phase: part of the forwarding fees that this block's validators keep, nanotons. Null if none was due.",
    ),
    action_result_code: integer(
      'Action phase: result code, 0 and 1 mean success (37 not enough coins, 40 message too large, ...). Null if the phase did not run.',
    ),
    action_result_arg: integer('Action phase: number of the action that failed, from 0. Null if none did.'),
    action_tot_actions: integer(
      'Action phase: how many actions the contract asked for. Null if the phase did not run.',
    ),
    action_spec_actions: integer(
      'Action phase: how many of the actions were special ones (code and library changes, reserves). Null if the phase did not run.',
    ),
    action_skipped_actions: integer(
      'Action phase: how many actions were left out, as their mode allows. Null if the phase did not run.',
    ),
    action_msgs_created: integer(
      'Action phase: how many messages it made; a bounce is not counted here. Null if the phase did not run.',
    ),
    action_list_hash: hash(
      'Action phase: hash of the list of actions, base64. Null if the phase did not run. From transactions[].description.action.action_list_hash.',
    ),
    action_tot_msg_size_cells: int8(
      'Action phase: size of all messages made, in cells. Null if the phase did not run.',
    ),
    action_tot_msg_size_bits: int8(
      'Action phase: size of all messages made, in bits. Null if the phase did not run.',
    ),

    bounce_type: text(
      'Bounce phase: ok (value sent back), nofunds or negfunds (it was not enough). Null if nothing was to bounce.',
    ),
    bounce_msg_size_cells: int8(
      'Bounce phase: size of the message sent back, in cells. Null if none was measured.',
    ),
    bounce_msg_size_bits: int8(
      'Bounce phase: size of the message sent back, in bits. Null if none was measured.',
    ),
    bounce_req_fwd_fees: amount(
      'Bounce phase: forwarding fee that sending back would have cost, nanotons. Null but for nofunds.',
    ),
    bounce_msg_fees: amount(
      "Bounce phase: part of the returned message's fee that this block's validators keep, nanotons. Null but for ok.",
    ),
    bounce_fwd_fees: amount(
      'Bounce phase: forwarding fee of the message sent back, nanotons. Null but for ok.',
    ),

    split_cur_shard_pfx_len: integer(
      'Split or merge: length of the current shard prefix in bits. Null for other kinds.',
    ),
    split_acc_split_depth: integer(
      'Split or merge: depth to which the account is split, in bits. Null for other kinds.',
    ),
    split_this_addr: text(
      'Split or merge: address of this part of the account, base64. Null for other kinds.',
    ),
    split_sibling_addr: text(
      'Split or merge: address of the other part of the account, base64. Null for other kinds.',
    ),

    before_hash: hash(
      "Hash of the account's state before the transaction, base64; equals after_hash of its previous one. Null only if not sent.",
    ),
    before_balance: amount(
      'Balance before the transaction, nanotons. Null if the server does not hold that state.',
    ),
    before_extra_currencies: jsonb(
      'Other currencies held before the transaction, an object of amounts by currency id; {} means none, null not known.',
    ),
    before_account_status: text(
      'Status in the state before the transaction. Null if the server does not hold that state; see orig_status.',
    ),
    before_frozen_hash: hash(
      'Hash of the frozen state before the transaction, base64. Null unless the account was frozen.',
    ),
    before_data_hash: hash(
      "Hash of the contract's data before the transaction, base64. Null if it had none, or the state is not held.",
    ),
    before_code_hash: hash(
      "Hash of the contract's code before the transaction, base64. Null if it had none, or the state is not held.",
    ),

    after_hash: hash("Hash of the account's state after the transaction, base64. Null only if not sent."),
    after_balance: amount(
      'Balance after the transaction, nanotons. Null if the server does not hold that state.',
    ),
    after_extra_currencies: jsonb(
      'Other currencies held after the transaction, an object of amounts by currency id; {} means none, null not known.',
    ),
    after_account_status: text(
      'Status in the state after the transaction. Null if the server does not hold that state; see end_status.',
    ),
    after_frozen_hash: hash(
      'Hash of the frozen state after the transaction, base64. Null unless the account is frozen.',
    ),
    after_data_hash: hash(
      "Hash of the contract's data after the transaction, base64. Null if it has none, or the state is not held.",
    ),
    after_code_hash: hash(
      "Hash of the contract's code after the transaction, base64. Null if it has none, or the state is not held.",
    ),

    emulated: boolean(
      'True for a transaction that was emulated, not seen in a block; false for all that the program reads. Null in older recordings.',
    ),
    finality: text(
      'How final the transaction is: pending, confirmed or finalized; the program reads finalized ones. Null in older recordings.',
    ),
    ...restColumns(
      'Members of transactions[] that this version of the program has no column for, and phases that were sent empty, by dotted path; null if there are none.',
    ),
  },
  key: ['utime', 'lt', 'account'],
  indexes: (t) => [
    // Transactions are searched by hash alone, without a time.
    index('transactions_hash').on(t.hash),
    // An account's history, newest first: the most frequent query.
    index('transactions_account').on(t.account, t.utime, t.lt),
  ],
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
