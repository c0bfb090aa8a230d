import { sql } from 'drizzle-orm';
import { index } from 'drizzle-orm/pg-core';
import { documentedMembers } from './action-members.ts';
import {
  address,
  amount,
  boolean,
  hash,
  int8,
  integer,
  jsonb,
  loadedAt,
  moment,
  restColumns,
  text,
  tonTable,
  utime,
} from '../describe.ts';

export const actions = tonTable('actions', {
  comment:
    'What people did, as the source understands traces: transfers, swaps, stakes, sales, one row an action. Read from GET /api/v3/actions for a fixed list of types; the parts of an action that is made of others have no rows of their own. Found some time after the trace ended, and sometimes found anew: each second is read again after it has matured, and its rows are exchanged as a whole.',
  from: 'actions[].*',
  columns: {
    utime: utime(
      "Block time, UTC, at which the action's trace ended, by which the source sorts actions; the action's own times are start_utime and end_utime. From actions[].trace_end_utime.",
    ),
    trace_id: hash(
      "Trace that the action is part of, base64; with utime it finds the trace's row.",
    ).notNull(),
    action_id: hash(
      'Identity of the action within its trace, base64; another one after the source has found it anew.',
    ).notNull(),
    type: text(
      'What kind of action it is: ton_transfer, jetton_swap, nft_purchase, call_contract and so on; it decides what details holds.',
    ).notNull(),
    success: boolean('False if the action was tried and failed; null if the source does not say.'),
    source: address(
      `Account that the action comes from, raw form; null if it has none. From actions[].${documentedMembers('source')}.`,
    ),
    destination: address(
      `Account that the action goes to, raw form; null if it has none. From actions[].${documentedMembers('destination')}.`,
    ),
    asset: address(
      `Jetton master, NFT item or domain that the action is about, raw form; null if it is about the chain's own coin or nothing. From actions[].${documentedMembers('asset')}.`,
    ),
    amount: amount(
      `How much of the asset (in its smallest units), or nanotons if there is none; null if no amount belongs to it. From actions[].${documentedMembers('amount')}.`,
    ),
    details: jsonb(
      'Everything that the source says about an action of this type, in its own shape; null only if the source says null.',
    ),
    start_utime: moment("Block time, UTC, of the action's first transaction.").notNull(),
    start_lt: int8("Logical time of the action's first transaction.").notNull(),
    end_utime: moment("Block time, UTC, of the action's last transaction.").notNull(),
    end_lt: int8("Logical time of the action's last transaction.").notNull(),
    trace_end_lt: int8("Logical time of the last transaction of the action's trace.").notNull(),
    trace_mc_seqno_end: integer(
      "Masterchain block that registered the last transaction of the action's trace.",
    ),
    trace_external_hash: hash(
      "Hash of the message that set the action's trace off, base64; null if there was none or the server leaves it out.",
    ),
    trace_external_hash_norm: hash(
      'Normalized hash of the same message, base64, the one that wallets know; null if it equals the other or the server leaves it out.',
    ),
    account_count: integer(
      'How many accounts take part, each a row of action_accounts. The length of actions[].accounts; null if the server was not asked for them.',
    ),
    transaction_count: integer(
      'How many transactions the action is made of, each a row of action_transactions. The length of actions[].transactions; null only if not sent.',
    ),
    finality: text(
      'How final the action is: finalized, for all that are stored; null if an older server leaves it out.',
    ),
    ...restColumns(),
  },
  key: ['utime', 'trace_id', 'action_id'],
  indexes: (t) => [
    // One type of actions, of a time: swaps, sales, stakes.
    index('actions_type').on(t.type, t.utime),
    // How one item got its owners: mints, and sales of names, which no row of nft_transfers shows.
    index('actions_owned')
      .on(t.asset, t.utime)
      .where(sql`type in ('nft_mint', 'dns_purchase', 'nft_transfer')`),
  ],
  owner: 'actions',
  conflict: { kind: 'replace' },
  lacking: ['trace_external_hash'],
  partitioned: true,
});

export const action_accounts = tonTable('action_accounts', {
  comment: 'Which accounts take part in an action: one row for each of them, in no special order.',
  columns: {
    utime: utime(
      "Block time, UTC, at which the trace of the account's action ended: equals utime in actions. From actions[].trace_end_utime.",
    ),
    trace_id: hash(
      "Trace of the account's action, base64. From actions[].trace_id, as in actions.",
    ).notNull(),
    action_id: hash(
      'Action that the account takes part in, base64. From actions[].action_id, as in actions.',
    ).notNull(),
    position: integer('Place of the account in the list, from 0. The index in actions[].accounts.').notNull(),
    account: address('Account that takes part in the action, raw form. From actions[].accounts[].').notNull(),
    loaded_at: loadedAt(),
  },
  key: ['utime', 'trace_id', 'action_id', 'position'],
  indexes: (t) => [
    // What an account did, newest first: the main query on actions.
    index('action_accounts_account').on(t.account, t.utime),
  ],
  owner: 'actions',
  conflict: { kind: 'replace' },
  partitioned: true,
});

export const action_transactions = tonTable('action_transactions', {
  comment: 'Which transactions an action is made of: one row for each of them, in the order of the source.',
  columns: {
    utime: utime(
      "Block time, UTC, at which the trace of the transaction's action ended: equals utime in actions, not in transactions. From actions[].trace_end_utime.",
    ),
    trace_id: hash(
      "Trace of the transaction's action, base64. From actions[].trace_id, as in actions and transactions.",
    ).notNull(),
    action_id: hash(
      'Action that the transaction is part of, base64. From actions[].action_id, as in actions.',
    ).notNull(),
    position: integer(
      'Place of the transaction in the list, from 0. The index in actions[].transactions.',
    ).notNull(),
    tx_hash: hash(
      'Hash of a transaction that the action is made of, base64. From actions[].transactions[].',
    ).notNull(),
    loaded_at: loadedAt(),
  },
  key: ['utime', 'trace_id', 'action_id', 'position'],
  owner: 'actions',
  conflict: { kind: 'replace' },
  partitioned: true,
});
